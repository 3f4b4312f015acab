// PutsCollector: puts by Channel Access and PV Access and their results, circuits, clients,
// searches, beacons. Its sources (put_source.h) add to sums that hold for both protocols; samples,
// families and pages are made from those, and observers get what was read.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/rates.h"
#include "base/wall_clock.h"
#include "exposition/collector.h"
#include "exposition/self_samples.h"
#include "iocs/host.h"
#include "puts/gateways.h"
#include "puts/inventory/inventory.h"
#include "puts/inventory/pv_records.h"
#include "puts/packets.h"
#include "puts/pending.h"
#include "puts/server_probe/server_probe.h"
#include "puts/totals/bounds.h"
#include "puts/totals/samples_by_name.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::puts {

// Gets all puts whenever they are read; under the mutex of PutsCollector.
class PutObserver {
 public:
  virtual ~PutObserver() = default;
  // `names`: of the servers, by their numbers.
  virtual void puts_were_read(const IocNames& names, const std::vector<PutCount>& puts,
                              const WallClock& clock) = 0;
  // On the puts of these labels, as on /metrics; "": none. Under the same mutex.
  virtual std::string_view verdict(const PutSample& put) const = 0;
};

class PutsCollector final : public Collector {
 public:
  struct Setup : Packets::Setup {
    kernel::TraceUse traces = {};
    probes::Budget* budget = nullptr;  // of ServerProbe
  };
  // Loads the programs, what fails shows in probes(). `host` must outlive it.
  PutsCollector(iocs::Host& host, const Setup& setup);

  std::string_view name() const override { return "puts"; }
  bool is_enabled() const override { return options_.enabled; }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;
  void detach() override;
  void attach() override;
  // Writes the names of open channels for the next run. At the end.
  void keep_channels();

  // From the next scrape on: limits of series, how long puts of clients that are gone are kept,
  // what the site's file says about gateways. In any thread.
  void use(const exposition::BoundsOptions& bounds, std::chrono::milliseconds expiry,
           GatewayList gateways);

  // For the helper that opens the packet socket (null: there is no tap), and attaches probes.
  PacketTap* packet_tap() const;
  std::vector<elf::Attacher*> attachers() const;

  // One, or null. Before the first tick.
  void set_observer(PutObserver* observer) { observer_ = observer; }
  // Has the observer see what was counted until now, then calls `change`; no puts are read in
  // between. How much of it the CA servers' probes have counted. In any thread.
  PutsOfSlots show_puts(const std::function<void()>& change);

  // In any thread. `groups`: what puts to groups of PV Access have written.
  WhoWrote who_wrote(std::string_view pv, const WrittenByGroup& groups);
  std::vector<PendingPutsSample> pending_puts();

  // Owners of puts by their events; nothing: not known, or not any more. With names and addresses
  // of the servers. `again`: these were asked for before, and their names may be known by now.
  // Without the server's address.
  std::optional<PutIdentity> identify(const iocx_putlog_event& event) const;
  std::vector<std::optional<PutIdentity>> identify(std::span<const iocx_putlog_event> events,
                                                   bool again);
  // Events of that source that were lost, so far; and answers to puts.
  kernel::LostEvents lost_events(iocx_putlog_source source) const;

 private:
  struct Reading {
    SamplesOfBoth samples;
    SelfSamples self;
    std::vector<PutSourceSample> sources = {};
    bool complete = true;
  };
  struct Counts {
    TapReading all;  // without what packets show, where they could not be read
    bool has_packets = true;
    bool complete = true;
  };
  using Probe = std::optional<ServerProbe>;

  bool see_host(bool hands_off);
  Result<void> load_probe(Protocol protocol, const Setup& setup);
  Probe& probe(Protocol protocol) { return probes_[index_of(protocol)]; }
  const Probe& probe(Protocol protocol) const { return probes_[index_of(protocol)]; }
  const PutSource* source(std::uint32_t source) const;
  void forget_gone();
  bool report(const char* action, const PutSource& source, const Result<void>& result);
  bool collect_probes(TimePoint now);
  bool serves(const iocs::LiveIoc& live, Protocol protocol) const;
  std::string_view source_of(const iocs::LiveIoc& live, Protocol protocol) const;
  Result<CaServerTables> read_tables(const iocs::LiveIoc& live) const;
  void name_slots(TimePoint now);
  Counts read_counts();
  void look_at_servers();
  Reading read();
  void read_puts(Reading& reading);
  void add_server_facts(PutsSamples& samples) const;
  double counted_since(const iocs::LiveIoc& live, Protocol protocol) const;
  void add_sources(Reading& reading) const;
  std::vector<PutSwitchSample> switches() const;
  void add_rates(Reading& reading, exposition::StatusPage& page);
  std::vector<PendingPutsSample> read_pending();

  iocs::Host& host_;
  Options options_;
  std::array<std::string, 2> why_no_probe_;  // by protocol; "" = loaded, or turned off
  mutable std::mutex mutex_;                 // of the members below, unless noted otherwise
  std::shared_ptr<const iocs::HostView> view_;
  IocNames names_;                                  // of the view
  std::shared_ptr<const iocs::HostView> followed_;  // at the last follow(), null before
  bool left_alone_ = false;                         // then
  bool rested_ = false;                             // at the last scan: Host::listeners()
  std::shared_ptr<Totals> totals_ = std::make_shared<Totals>(kPutSeries);
  Packets packets_;
  std::array<Probe, 2> probes_;  // by protocol; go before the packets
  CaInventory inventory_;        // in any thread
  Gateways gateways_;            // the same
  PvRecords pv_records_;
  WallClock wall_clock_;
  TroubleLog trouble_;
  PutObserver* observer_ = nullptr;
  // Servers of the kind other_pva, those in other network namespaces, and those that were seen to
  // serve PV Access; also the gone.
  std::set<std::uint32_t> pva_only_, out_of_reach_, seen_by_pva_;
  PutBounds ca_bounds_{{}}, pva_bounds_{{}, true};  // in any thread
  Rates rates_;                                     // the same
};

}  // namespace ioc_exporter::puts
