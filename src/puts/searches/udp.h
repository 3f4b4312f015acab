// Channel Access over UDP on this host. The kernel (bpf/tap/udp.bpf.c) watches the TCP port of
// every server of this host that answers a search or sends a beacon, before its first client
// connects. If that is wanted, it counts searches by client and name, and beacons by server.
//
// Datagrams are those that the packet filters of Tap find, to and from its ports and those of
// WatchedServers::set_udp_ports(). Each is taken once.
//
// Not thread-safe: one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/monotonic_totals.h"
#include "base/result.h"
#include "exposition/self_samples.h"
#include "puts/searches/udp_object.h"
#include "puts/tap/enslaved_devices.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

struct CaUdpOptions {
  CaUdpSizes sizes;
  bool remote = false;    // watch servers of other hosts, too, that answer clients of this one
  bool searches = false;  // count searches and beacons; as TapOptions::searches
};

struct CaUdpReading {
  std::vector<SearchSample> searches;  // by client; the last one is "(other)", if it has any
  std::vector<SearchedName> names;     // most requests first
  std::vector<BeaconSample> beacons;
  Drops drops;  // every reason, also those that are 0
  std::vector<MapSample> maps;
};

class CaUdp {
 public:
  using Clock = std::chrono::steady_clock;
  // A name is listed from so many requests on, if the client has not asked a server of this host
  // for a channel since. A client that finds a name asks for it once or twice.
  static constexpr std::uint64_t kLeastRequests = 5;
  static constexpr std::size_t kMostNames = 20;
  // libca asks at least every 5 minutes (EPICS_CA_MAX_SEARCH_PERIOD): after that a search is over.
  static constexpr std::chrono::minutes kSearchOver{10};
  // A client or a server that is silent for so long leaves its place to others.
  static constexpr std::chrono::hours kSilent{24};
  // The same while half of all places are taken: by addresses that somebody made up, mostly.
  static constexpr std::chrono::minutes kSilentWhenCrowded{10};

  // Reads datagrams in the calling thread's network namespace. `maps`: TapObject::shared_maps();
  // the Tap must live longer.
  static Result<CaUdp> start(const TapSharedMaps& maps, const CaUdpOptions& options);

  // Takes note of the network's devices, and forgets what is over. Call it every second or two.
  Result<void> look(Clock::time_point now = Clock::now());
  Result<CaUdpReading> collect();
  const CaUdpObject& object() const { return object_; }

 private:
  // Counts of an address, by the label that it is shown by.
  using Totals = MonotonicTotals<std::string, 1, std::string>;

  CaUdp(CaUdpObject object, EnslavedDevices devices, bool searches)
      : object_(std::move(object)), devices_(std::move(devices)), searches_(searches) {}

  Result<void> update_devices();
  static CounterValues<1> forget(Totals& totals, const std::string& label);
  Result<void> observe();
  Result<void> forget_searches(std::uint64_t before_ns);
  template <class Map, class LabelOf>
  Result<std::vector<std::string>> erase_silent(const Map& map, std::uint64_t entries,
                                                Clock::time_point now, LabelOf label_of);
  Result<void> forget_silent(Clock::time_point now);
  Result<std::vector<SearchedName>> most_searched();
  Result<void> add_counters(CaUdpReading& reading) const;
  void add_samples(CaUdpReading& reading, std::uint64_t without_room) const;

  CaUdpObject object_;
  EnslavedDevices devices_;
  bool searches_;
  std::set<std::uint32_t> lower_;  // as the kernel has them
  Totals clients_;                 // by address: requests
  Totals servers_;                 // by address:port: beacons
  std::uint64_t other_ = 0;        // requests of clients that left clients_
  // Entries of the kernel's maps, as of the last look at them.
  std::uint64_t client_entries_ = 0, beacon_entries_ = 0, search_entries_ = 0;
  Clock::time_point next_forgetting_{};
};

}  // namespace ioc_exporter::puts
