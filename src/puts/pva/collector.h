// PvaCollector: puts by PV Access, counted in the IOCs' own servers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/wall_clock.h"
#include "exposition/collector.h"
#include "iocs/host.h"
#include "puts/collector.h"
#include "puts/server_probe/server_probe.h"
#include "puts/totals/bounds.h"
#include "puts/totals/samples.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::pva {

class PvaCollector final : public Collector {
 public:
  struct Setup {
    bool enabled = true;
    std::chrono::milliseconds put_expiry{};  // how long puts of clients that are gone are kept
    kernel::RingUse ring = {};               // for the put log
    kernel::TraceUse traces = {};
  };
  // Loads the programs, what fails shows in probes(). `host` must outlive it.
  PvaCollector(iocs::Host& host, const Setup& setup);

  std::string_view name() const override { return "pva"; }
  bool is_enabled() const override { return enabled_; }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;
  void detach() override;

  // From the next scrape on. In any thread.
  void set_bounds(const exposition::BoundsOptions& bounds) { bounds_.configure(bounds); }
  void set_put_expiry(std::chrono::milliseconds expiry);

  // In any thread.
  ca::WhoWrote who_wrote(std::string_view pv);

  // One, or null. Before the first tick.
  void set_observer(ca::PutObserver* observer) { observer_ = observer; }
  // Has the observer see what was counted until now. Under the host's mutex.
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
  CaSamples read(SelfSamples& self);

  iocs::Host& host_;
  bool enabled_;
  std::string why_not_;  // "" = loaded, or turned off
  // Members below: under the host's mutex, unless noted otherwise.
  std::shared_ptr<ca::CaTotals> totals_ = std::make_shared<ca::CaTotals>(ca::kCaPutSeries);
  std::optional<ca::ServerProbe> probe_;
  std::set<std::uint32_t> known_;  // numbers of IOCs that have a name
  WallClock wall_clock_;
  TroubleLog trouble_;
  ca::PutObserver* observer_ = nullptr;
  ca::CaBounds bounds_{{}};  // in any thread
};

}  // namespace ioc_exporter::pva
