// PvaCollector: puts by PV Access, counted in the IOCs' own servers; from packets where they are
// not, with who is connected to all servers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/rates.h"
#include "base/wall_clock.h"
#include "exposition/collector.h"
#include "iocs/host.h"
#include "puts/collector.h"
#include "puts/inventory/pv_records.h"
#include "puts/server_probe/server_probe.h"
#include "puts/totals/bounds.h"
#include "puts/totals/samples.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::pva {

class PvaCollector final : public Collector {
 public:
  struct Setup {
    bool server_probe = true;
    std::chrono::milliseconds put_expiry{};  // how long puts of clients that are gone are kept
    kernel::RingUse ring = {};               // for the put log
    kernel::TraceUse traces = {};
    probes::Budget* budget = nullptr;  // of ServerProbe
  };
  // Loads the programs, what fails shows in probes(). `host` and `packets` must outlive it.
  PvaCollector(iocs::Host& host, const Setup& setup, ca::CaCollector& packets);

  std::string_view name() const override { return "pva"; }
  bool is_enabled() const override { return server_probe_ || packets_.is_enabled(); }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;
  void detach() override;

  // From the next scrape on. In any thread.
  void set_bounds(const exposition::BoundsOptions& bounds) { bounds_.configure(bounds); }
  void set_put_expiry(std::chrono::milliseconds expiry);

  // Under the host's mutex.
  Result<void> add_pending(ca::PendingPuts& pending) {
    return probe_ ? probe_->add_pending(pending) : Result<void>();
  }
  // In any thread.
  ca::WhoWrote who_wrote(std::string_view pv, const ca::WrittenByGroup& groups);

  // One, or null. Before the first tick.
  void set_observer(ca::PutObserver* observer) { observer_ = observer; }
  // Has the observer see what was counted until now. Under the host's mutex, after CaCollector's.
  void show_puts() { static_cast<void>(read_probe()); }

  // For the put log: events that were lost, so far; and, under the host's mutex, the IOC's number
  // by what the programs call it.
  kernel::LostEvents lost_events() const {
    return probe_ ? probe_->lost_events() : kernel::LostEvents();
  }
  std::optional<std::uint32_t> number_of(std::uint32_t generation) const {
    return probe_ ? probe_->number_of(generation) : std::nullopt;
  }

  // The probes, for the helper that attaches them; null: there are none.
  ca::ServerProbeObject* server_probe_object() { return probe_ ? &probe_->object() : nullptr; }

 private:
  bool read_probe();
  void read_sources(SelfSamples& self);
  void read_connected(CaSamples& samples) const;
  CaSamples read(SelfSamples& self);

  iocs::Host& host_;
  bool server_probe_;
  ca::CaCollector& packets_;
  std::string why_not_;  // "" = loaded, or turned off
  // Members below: under the host's mutex, unless noted otherwise.
  std::shared_ptr<ca::CaTotals> totals_ = std::make_shared<ca::CaTotals>(ca::kCaPutSeries);
  std::optional<ca::ServerProbe> probe_;
  std::set<std::uint32_t> known_;      // numbers of IOCs that have a name
  std::set<std::uint32_t> connected_;  // of them, those that were seen to serve PV Access
  WallClock wall_clock_;
  TroubleLog trouble_;
  ca::PvRecords pv_records_;
  ca::PutObserver* observer_ = nullptr;
  ca::CaBounds bounds_{{}};  // in any thread
  Rates rates_;              // the same
};

}  // namespace ioc_exporter::pva
