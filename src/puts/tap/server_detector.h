// OtherCaDetector: which of the listeners that no known process holds are CA servers: those that
// have answered a search or sent a beacon. A TCP forwarder does neither. Pure: no system calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "iocs/find/finder.h"
#include "puts/tap/server.h"

namespace ioc_exporter::puts {

class OtherCaDetector {
 public:
  // `unclaimed`: listeners, as they are now. `learned`: servers of this host that answered a search
  // or sent a beacon. `own`: inode of the exporter's network namespace. Gives the listeners in it
  // that are CA servers.
  std::vector<iocs::Listener> update(const std::set<iocs::Listener>& unclaimed,
                                     const std::vector<TapServer>& learned, std::uint64_t own);

  // Where the listeners of the last update() are: there the tap need not expect an IOC.
  const std::set<std::uint16_t>& taken() const { return taken_; }

 private:
  std::set<std::uint16_t> taken_;  // ports
};

// The tap's name of a listening socket; nothing: it is one of IPv6 alone.
std::optional<TapServer> tap_server_at(const iocs::ListeningSocket& socket, std::uint32_t ioc);

}  // namespace ioc_exporter::puts
