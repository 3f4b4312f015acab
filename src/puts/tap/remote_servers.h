// RemoteServers: CA servers that have no process of this host to be named after, so that their
// label `ioc` is "address:port": those on other hosts, and listeners whose process is not seen.
//
// Each gets a number like an IOC's when a client of this host first talks to it, and loses it
// `keep` after its last circuit.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "iocs/host.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::puts {

// "10.0.0.5:5064"; any address: ":5064".
std::string address_name(const iocx_ca_address& address, std::uint16_t port);

class RemoteServers {
 public:
  using Clock = std::chrono::steady_clock;
  // More are not distinguished: their puts are in the tap's drops.
  static constexpr std::size_t kMostServers = 1000;
  // Until its circuits have been looked at each stays, whatever `keep` is.
  static constexpr std::chrono::seconds kLeast{30};

  struct Options {
    bool remote = false;            // count what clients of this host send elsewhere
    std::set<std::uint16_t> ports;  // to which ports, on top of those that are learned
    NameFilter filter;              // of names
    std::chrono::milliseconds keep{300'000};
  };

  explicit RemoteServers(Options options) : options_(std::move(options)) {}

  // `found`: servers that talk now, and are not named. Those that are left out by the filter, or
  // for want of room, stay so.
  void add(const std::vector<TapServer>& found, iocs::Host& host, Clock::time_point now);
  // `circuits`: of which numbers there are circuits. Lets those go that had none for too long.
  void release_unused(const std::set<std::uint32_t>& circuits, iocs::Host& host,
                      Clock::time_point now);

  // Servers that the tap watches for them.
  std::vector<TapServer> servers() const;
  bool empty() const { return known_.empty(); }

 private:
  struct Known {
    std::string name;
    std::uint32_t number = 0;
    Clock::time_point last_used;
  };

  Options options_;
  std::map<iocx_ca_server, Known, KeyLess> known_;
};

}  // namespace ioc_exporter::puts
