// CaServerDetector: which of the listeners that are nobody's who is known are still to be judged,
// and which of them speak Channel Access. Pure: no system calls.
//
// Every listener is a candidate until a connection to it tells. "No" holds for kSecondLook only: it
// may have been a port scanner that talked to a CA server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ca/tap.h"
#include "iocs/finder.h"

namespace ioc_exporter::ca {

class CaServerDetector {
 public:
  using Clock = std::chrono::steady_clock;
  // The tap's number of a network namespace, by its inode; nothing: it does not look into it.
  using NetOf = std::function<std::optional<std::uint32_t>(std::uint64_t)>;
  static constexpr std::chrono::minutes kSecondLook{10};

  // `unclaimed`: as they are now, and what the tap has said since the last call. Gives the
  // listeners that speak Channel Access. `learned`: servers of this host that answered a search or
  // sent a beacon; whoever listens on their ports is one.
  std::vector<iocs::Listener> update(const std::set<iocs::Listener>& unclaimed,
                                     const std::vector<CaVerdict>& verdicts,
                                     const std::vector<CaServer>& learned, const NetOf& net_of,
                                     Clock::time_point now);

  // Those of the last update() that the tap is to watch as candidates.
  const std::vector<CaServer>& candidates() const { return candidates_; }
  // And all of its listeners, candidates or not: there the tap need not expect an IOC.
  const std::set<std::pair<std::uint32_t, std::uint16_t>>& taken() const { return taken_; }

 private:
  std::map<iocs::Listener, Clock::time_point> silent_;  // said no, when
  std::vector<CaServer> candidates_;
  std::set<std::pair<std::uint32_t, std::uint16_t>> taken_;  // net, port
};

// The tap's name of a listening socket.
CaServer ca_server(const iocs::ListeningSocket& socket, std::uint32_t net, std::uint32_t ioc);

}  // namespace ioc_exporter::ca
