// CaCollector: Channel Access: puts and their results, circuits, clients, searches, beacons. Owns
// the tap and its sources, and their families. The tap's part of PV Access is for PvaCollector.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/pattern.h"
#include "base/rates.h"
#include "base/wall_clock.h"
#include "exposition/collector.h"
#include "exposition/self_samples.h"
#include "iocs/host.h"
#include "puts/gateways.h"
#include "puts/inventory/inventory.h"
#include "puts/inventory/pv_records.h"
#include "puts/options.h"
#include "puts/pending.h"
#include "puts/searches/udp.h"
#include "puts/server_probe/server_probe.h"
#include "puts/tap/kept_channels.h"
#include "puts/tap/remote_servers.h"
#include "puts/tap/served.h"
#include "puts/tap/server_detector.h"
#include "puts/tap/tap.h"
#include "puts/totals/bounds.h"
#include "puts/totals/samples.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::ca {

// Gets all puts whenever they are read; under the host's mutex.
class PutObserver {
 public:
  using Names = std::map<std::uint32_t, std::string>;
  virtual ~PutObserver() = default;
  // `names`: of the servers, by their numbers.
  virtual void puts_were_read(const Names& names, const std::vector<CaPutCount>& puts,
                              const WallClock& clock) = 0;
  // On the puts of these labels, as on /metrics; "": none. Under the same mutex.
  virtual std::string_view verdict(const PutSample& put) const = 0;
};

class CaCollector final : public Collector {
 public:
  // Loads the tap, what fails shows in probes(). `filter` and `keep_gone` hold for servers without
  // a process here. `state_folder`: where names of open channels are kept for the next run; "" =
  // they are not. `host` must outlive it.
  struct Setup {
    Options options;
    NameFilter filter;
    std::chrono::milliseconds keep_gone{};
    std::string state_folder = {};
    kernel::RingUse ring = {};  // for the put log
    kernel::TraceUse traces = {};
    probes::Budget* budget = nullptr;  // of ServerProbe
  };
  CaCollector(iocs::Host& host, const Setup& setup);

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

  // From the next scrape on. In any thread.
  void set_bounds(const exposition::BoundsOptions& bounds) { bounds_.configure(bounds); }
  // How long puts of clients that are gone are kept. In any thread.
  void set_put_expiry(std::chrono::milliseconds expiry);

  // The packet socket, for who opens it in our place; null: there is no tap.
  CaPacketTap* packet_tap() { return tap_ ? &tap_->network().packets() : nullptr; }

  // The server's probes, for the helper that attaches them; null: there are none.
  ServerProbeObject* server_probe_object() {
    return server_probe_ ? &server_probe_->object() : nullptr;
  }

  // By PV Access, what packets have shown as of the last reading; under the host's mutex, as the
  // next ones. Servers stand with their IOCs' numbers.
  const CaTapReading& pva_packets() const { return pva_packets_; }
  // Null: packets are not read.
  CaTap* tap() { return tap_.get(); }
  // Packets to the IOC are read.
  bool is_tapped(const iocs::Ioc& ioc) const {
    return ioc.own_net_namespace && tap_ && tap_->network().packets().is_open();
  }
  // Of the PVA servers. Before the first tick.
  void set_pva_probe(ServerProbe* probe) { pva_probe_ = probe; }

  // In any thread.
  Gateways& gateways() { return gateways_; }

  // One, or null. Before the first tick.
  void set_observer(PutObserver* observer) { observer_ = observer; }
  // Has the observer see what was counted until now. Under the host's mutex.
  void show_puts() { static_cast<void>(read_tap()); }
  // Of it, what the server probe has counted. The same.
  PutsOfSlots counted() const { return server_probe_ ? server_probe_->counted() : PutsOfSlots(); }

  // In any thread.
  WhoWrote who_wrote(std::string_view pv);
  std::vector<PendingPutsSample> pending_puts();
  // Who else knows puts with callback that wait; called under the host's mutex. Before the first
  // tick.
  using MorePending = std::function<Result<void>(PendingPuts&)>;
  void set_more_pending(MorePending more) { more_pending_ = std::move(more); }

  // For the put log; under the host's mutex, but for what was lost.
  // Owner of a put's event; nothing: not known, or not any more.
  std::optional<CaPutIdentity> identify(const iocx_putlog_event& event) const;
  // Server that its client is connected to, "10.0.0.1:5064"; "": not known.
  std::string server_of(const CaPutPlace& place) const;
  // identify() may know more names after this.
  void look_for_names();
  // Events of that source that were lost, so far; and answers to puts.
  kernel::LostEvents lost_events(iocx_putlog_source source) const;

 private:
  struct Reading {
    CaSamples samples;
    SelfSamples self;
    bool complete = true;
  };

  Result<void> load_tap(const Setup& setup);
  Result<void> load_udp();
  Result<void> load_server_probe(const Setup& setup);
  void follow_iocs(TimePoint now);
  void follow_tap(TimePoint now);
  void set_probed_ports();
  void collect_server_probe(TimePoint now);
  void read_server_probe(Reading& reading);
  void read_sources(SelfSamples& self) const;
  std::vector<Served> served() const;
  std::vector<CaServer> places_of_servers(const std::vector<Served>& served) const;
  std::vector<CaServer> addressed_now(const std::vector<CaServer>& learned) const;
  void watch_other_ports(TimePoint now);
  bool is_pva_port(const Served& one, std::uint16_t port) const;
  void release_addressed(TimePoint now);
  Result<CaServerTables> read_tables(const Served& served) const;
  void name_slots(TimePoint now);
  Result<CaTapReading> read_tap();
  Reading read();
  std::vector<SocketOwner> socket_owners() const;
  void look_at_servers();
  void read_puts(Reading& reading);
  void read_searches(Reading& reading);
  std::vector<PendingPutsSample> read_pending();

  iocs::Host& host_;
  Options options_;
  std::set<std::uint16_t> server_ports_;  // where a CA server is expected
  std::set<std::uint16_t> pva_ports_;     // the same of PV Access
  // "" = loaded, or turned off
  std::string why_no_tap_, why_no_udp_, why_no_server_probe_;
  // Members below: under the host's mutex, unless noted otherwise.
  std::shared_ptr<CaTotals> totals_ = std::make_shared<CaTotals>(kCaPutSeries);
  std::unique_ptr<CaTap> tap_;  // without it, packets are not read
  ChannelsFile kept_;
  std::optional<CaUdp> udp_;                 // goes before the tap
  std::optional<ServerProbe> server_probe_;  // the same
  CaServerDetector detector_;
  RemoteServers addressed_;
  CaInventory inventory_;  // in any thread
  Gateways gateways_;      // the same
  PvRecords pv_records_;
  WallClock wall_clock_;
  TroubleLog trouble_;
  PutObserver* observer_ = nullptr;
  MorePending more_pending_;
  TimePoint next_release_{};
  TimePoint next_udp_look_{};
  CaPorts udp_sockets_;  // as of the last look
  CaTapReading pva_packets_;
  ServerProbe* pva_probe_ = nullptr;
  // Servers of the kind pva_server, and those in other network namespaces, also the gone.
  std::set<std::uint32_t> pva_only_, out_of_reach_;
  CaBounds bounds_;  // in any thread
  Rates rates_;      // in any thread
};

}  // namespace ioc_exporter::ca
