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
#include "puts/tap/who_counts.h"
#include "puts/totals/samples.h"
#include "puts/totals/server_totals.h"
#include "puts/totals/totals.h"

namespace ioc_exporter::ca {

struct CaTapOptions {
  RootedFs fs;
  CaTapSizes sizes;
  std::size_t max_series = kCaPutSeries;  // sets of labels; puts over it are in the drops
  std::shared_ptr<CaTotals> totals = {};  // null: its own
  CaTapLock lock = CaTapLock::choose;
  // Read also what clients on this host send to the servers elsewhere that are named or learned.
  bool remote_servers = false;
  bool searches = false;      // note which names that clients search for are found
  kernel::RingUse ring = {};  // for the put log
};

// Servers stand with the caller's numbers. Puts of channels whose server has none yet wait until it
// has.
struct CaTapReading : CaTotalsReading {
  std::vector<CaServerCount> servers;  // of those with a circuit since they were first seen
  std::vector<CaClientCount> clients;  // what is open now
  Drops drops;                         // every reason, also those that are 0
  std::vector<MapSample> maps;         // fill of circuits and pages as of the last reap()
};

class CaTap {
 public:
  using Clock = std::chrono::steady_clock;

  // Loads and attaches in the calling thread's network namespace. Nothing is watched yet.
  static Result<std::unique_ptr<CaTap>> start(CaTapOptions options);
  CaTap(const CaTap&) = delete;

  // From now on these servers are watched, and for a while those that were before. Cheap when
  // nothing changed: call it at every look for IOCs, it also takes note of the host's new
  // addresses.
  Result<void> set_servers(const std::vector<CaServer>& servers,
                           Clock::time_point now = Clock::now());
  // Circuits and channels, as far as the kernel has counted.
  Result<void> observe(Clock::time_point now, CaOpenCounts* open = nullptr);
  // Frees what has ended. Call it every second or two.
  Result<void> reap(Clock::time_point now = Clock::now());
  // Names of channels that were open in an earlier run. Before anything is watched.
  void know(KeptCircuits kept) { circuits_.know(std::move(kept)); }
  Result<CaTapReading> collect(Clock::time_point now = Clock::now());
  // Drops the totals of an IOC that has left.
  Result<void> forget(std::uint32_t ioc);

  // Change who counts an IOC's puts.
  Result<void> let_packets_count(std::uint32_t ioc);
  Result<void> let_nobody_count(std::uint32_t ioc);
  void let_server_count(std::uint32_t ioc, bool results) { who_counts_.begin_server(ioc, results); }
  const WhoCounts& who_counts() const { return who_counts_; }
  // TCP ports at which all servers are probed for their puts and results, with the IOC: those are
  // not followed there, nor channels of Channel Access.
  void set_probed_ports(ProbedPorts ports);

  // For the put log; in any thread.
  kernel::LostEvents lost_events() const;

  CaNetwork& network() { return network_; }
  WatchedServers& servers() { return servers_; }
  const Circuits& circuits() const { return circuits_; }
  Channels& channels() { return channels_; }
  const CaTapObject& object() const { return object_; }

 private:
  CaTap(CaTapOptions options, CaTapObject object);
  Result<void> free_channels(const Circuits::Seen& seen, Clock::time_point now);
  Result<void> observe_all(Clock::time_point now);
  Result<Drops> read_drops() const;

  CaTapObject object_;
  CaNetwork network_;  // goes before the object
  std::shared_ptr<CaTotals> totals_;
  WhoCounts who_counts_;
  ProbedPorts probed_ports_;
  WatchedServers servers_;
  Circuits circuits_;
  Channels channels_;
  Outcomes outcomes_;
  Leftovers leftovers_;
};

}  // namespace ioc_exporter::ca
