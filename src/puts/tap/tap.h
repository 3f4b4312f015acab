// The tap: counts the puts that reach the servers of Channel Access and PV Access of this host, per
// channel.
//
// The kernel counts (bpf/tap/tap.bpf.c). User space says which servers to watch (WatchedServers),
// gives the counters their names (Channels), and frees what has ended (Circuits, Channels,
// Outcomes, Leftovers).
//
// Not thread-safe: one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "exposition/self_samples.h"
#include "puts/tap/channels.h"
#include "puts/tap/circuits.h"
#include "puts/tap/leftovers.h"
#include "puts/tap/network.h"
#include "puts/tap/outcomes.h"
#include "puts/tap/server.h"
#include "puts/tap/tap_object.h"
#include "puts/tap/watched_servers.h"
#include "puts/totals/samples.h"
#include "puts/totals/server_totals.h"
#include "puts/totals/totals.h"

namespace ioc_exporter::puts {

struct TapOptions {
  RootedFs fs;
  TapSizes sizes;
  std::size_t max_series = kPutSeries;  // sets of labels; puts over it are in the drops
  std::shared_ptr<Totals> totals = {};  // null: its own
  TapLock lock = TapLock::choose;
  // Read also what clients on this host send to the servers elsewhere that are named or learned.
  bool remote_servers = false;
  bool searches = false;      // note which names that clients search for are found
  kernel::RingUse ring = {};  // for the put log
};

// Servers stand with the caller's numbers. Puts of channels whose server has none yet wait until it
// has.
struct TapReading : TotalsReading {
  std::vector<ServerCount> servers;  // of those with a circuit since they were first seen
  std::vector<ClientCount> clients;  // what is open now
  Drops drops;                       // every reason, also those that are 0
  std::vector<MapSample> maps;       // fill of circuits and pages as of the last reap()
};

class Tap {
 public:
  using Clock = std::chrono::steady_clock;

  // Loads and attaches in the calling thread's network namespace. Nothing is watched yet.
  static Result<std::unique_ptr<Tap>> start(TapOptions options);
  Tap(const Tap&) = delete;

  // From now on these servers are watched, and for a while those that were before. Cheap when
  // nothing changed: call it at every look for IOCs, it also takes note of the host's new
  // addresses.
  Result<void> set_servers(const std::vector<TapServer>& servers,
                           Clock::time_point now = Clock::now());
  // Circuits and channels, as far as the kernel has counted.
  Result<void> observe(Clock::time_point now, OpenCounts* open = nullptr);
  // Frees what has ended. Call it every second or two.
  Result<void> reap(Clock::time_point now = Clock::now());
  // Names of channels that were open in an earlier run. Before anything is watched.
  void know(KeptCircuits kept) { circuits_.know(std::move(kept)); }
  Result<TapReading> collect(Clock::time_point now = Clock::now());
  // Drops the totals of an IOC that has left.
  Result<void> forget(std::uint32_t ioc);

  // Change the source of a server's puts, after what packets have shown until now.
  Result<void> let_packets_count(const ServerKey& server);
  Result<void> let_nobody_count(const ServerKey& server);
  // TCP ports at which all servers are probed for their puts and results, with the IOC: those are
  // not followed there, nor channels of Channel Access.
  void set_probed_ports(ProbedPorts ports);

  // For the put log; in any thread.
  kernel::LostEvents lost_events() const;

  TapNetwork& network() { return network_; }
  WatchedServers& servers() { return servers_; }
  const Circuits& circuits() const { return circuits_; }
  Channels& channels() { return channels_; }
  const TapObject& object() const { return object_; }

 private:
  Tap(TapOptions options, TapObject object);
  Result<void> free_channels(const Circuits::Seen& seen, Clock::time_point now);
  Result<void> observe_all(Clock::time_point now);
  Result<Drops> read_drops() const;

  TapObject object_;
  TapNetwork network_;  // goes before the object
  std::shared_ptr<Totals> totals_;
  ProbedPorts probed_ports_;
  WatchedServers servers_;
  Circuits circuits_;
  Channels channels_;
  Outcomes outcomes_;
  Leftovers leftovers_;
};

}  // namespace ioc_exporter::puts
