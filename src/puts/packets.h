// Packets: the source of puts to servers that are not probed, and of circuits, searches and
// beacons. Says at which ports of the host's servers the tap reads.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/pattern.h"
#include "exposition/collector.h"
#include "exposition/self_samples.h"
#include "iocs/host.h"
#include "puts/options.h"
#include "puts/put_source.h"
#include "puts/searches/udp.h"
#include "puts/tap/kept_channels.h"
#include "puts/tap/remote_servers.h"
#include "puts/tap/server_detector.h"
#include "puts/tap/tap.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

class Packets final : public PutSource {
 public:
  // `filter` and `keep_gone` hold for servers without a process here. `state_folder`: where names
  // of open channels are kept for the next run; "" = they are not.
  struct Setup {
    Options options;
    NameFilter filter;
    std::chrono::milliseconds keep_gone{};
    std::string state_folder = {};
    kernel::RingUse ring = {};  // for the put log
  };

  // Loads the tap where puts are wanted; what fails shows in probes(). `host` must outlive it.
  Packets(iocs::Host& host, const Setup& setup, std::shared_ptr<Totals> totals);

  std::vector<ProbeState> probes() const;
  void add_probes(SelfSamples& self) const;
  // Null: packets are not read.
  Tap* tap() const { return tap_.get(); }
  // Packets to the IOC are read.
  bool reach(const iocs::Ioc& ioc) const;

  // Watches the ports of the IOCs, and those where one is likely to appear: its first clients are
  // there within milliseconds, and their channels get their names only if they are seen.
  void follow(const iocs::HostView& view, Clock::time_point now);
  // After the server probes have followed: at ports of the servers that they count for, and that
  // no other server listens at, no channels are followed.
  void leave_out_probed(const iocs::HostView& view);
  void attach();
  // Writes the names of open channels for the next run. At the end.
  void keep_channels();

  const char* probe_name() const override;
  Result<void> collect(Clock::time_point now) override;
  Result<void> reap(Clock::time_point now) override;
  void detach_all(Clock::time_point now) override;
  // CLOCK_MONOTONIC; 0: they are not read.
  std::uint64_t open_since_ns() const;
  std::optional<PutIdentity> identify(const iocx_putlog_event& event) const override;
  kernel::LostEvents lost_events() const override;

  // Takes collect()'s place: the sums, too.
  Result<TapReading> read();
  // The same without what packets show.
  TapReading sums() const;
  // Server that the client is connected to, "10.0.0.1:5064"; "": not known.
  std::string address_of_server(const iocs::HostView& view, const PutPlace& place) const;
  // False: searches are missing.
  bool read_searches(PutsSamples& samples, SelfSamples& self);
  const ChannelsFile& kept() const { return kept_; }

 private:
  Result<void> load_tap(const Setup& setup);
  Result<void> load_udp(const Options& options);
  bool is_pva_port(const iocs::LiveIoc& live, std::uint16_t port) const;
  std::vector<TapServer> servers_to_watch(const iocs::HostView& view) const;
  std::vector<TapServer> addressed_now(const std::vector<TapServer>& learned) const;
  void watch_other_ports(Clock::time_point now);

  iocs::Host& host_;
  std::set<std::uint16_t> ca_ports_, pva_ports_;  // where a server is expected
  std::string why_no_tap_, why_no_udp_;           // "" = loaded, or turned off
  std::shared_ptr<Totals> totals_;
  std::unique_ptr<Tap> tap_;
  ChannelsFile kept_;
  std::optional<CaUdp> udp_;  // goes before the tap
  OtherCaDetector detector_;
  RemoteServers addressed_;
  TroubleLog trouble_;
  Clock::time_point next_udp_look_{};
  Ports udp_sockets_;  // as of the last look
};

}  // namespace ioc_exporter::puts
