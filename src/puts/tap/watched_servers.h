// Servers whose connections the programs read: those that the caller names, those that it named
// until lately, and those that the programs learned from datagrams.
//
// The kernel's tables are as this class has them: a server is in them before its port is watched,
// and a port is watched while a server, or somebody who listens to datagrams, needs it. After an
// error the next update() brings the remainder.
//
// An IOC's clients come back within milliseconds of its restart, before the IOC is found, and
// perhaps before the end of the former one is known. So a server that is not named any more stays
// watched for kKeep, as one whose IOC is still to come. Programs report of such a server that it
// has come, as they report one that they learn.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "puts/tap/connections.h"
#include "puts/tap/network.h"
#include "puts/tap/server.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::puts {

class WatchedServers {
 public:
  using Clock = std::chrono::steady_clock;
  // Longer than most IOCs take from their end to their next client.
  static constexpr std::chrono::seconds kKeep{120};

  // `remote`: also servers elsewhere, of clients on this host. The others must outlive it.
  WatchedServers(const TapObject& object, const TapNetwork& network, bool remote)
      : object_(object), network_(network), remote_(remote) {}

  // From now on these are watched.
  Result<void> update(const std::vector<TapServer>& named, Clock::time_point now);
  // A server is another IOC's than before, or has left, since settle().
  bool has_changed() const { return has_changed_; }
  void settle() { has_changed_ = false; }
  // Ports of datagrams alone: where searches and beacons go. From the next update() on.
  void set_udp_ports(Ports ports) { udp_ports_ = std::move(ports); }
  // Takes note of what the programs have learned.
  Result<void> read_learned(Clock::time_point now);
  // Servers that the programs learned of themselves, or that were to come and are there: `ioc` is
  // kIocToCome, or kRemoteServer for those elsewhere. They go after kKeep, unless they are named.
  Result<std::vector<TapServer>> learned(Clock::time_point now = Clock::now());

  // Server that the connection leads to; nothing: none is named.
  std::optional<ServerKey> named_at(const iocx_ca_flow_key& key) const;
  bool knows(const iocx_ca_flow_key& key) const;
  // An IOC was named there, now or before.
  bool was_named(std::uint16_t port) const { return known_ports_.contains(port); }
  bool is_watched(std::uint16_t port) const { return ports_.contains(port); }
  // Server elsewhere that a wildcard alone has found.
  std::optional<iocx_ca_server> remote_peer(const iocx_ca_flow_key& key) const;
  // Those of all connections.
  void set_remote_peers(std::set<iocx_ca_server, KeyLess> peers) {
    remote_peers_ = std::move(peers);
  }
  std::size_t size() const { return servers_.size() + learned_.size(); }

 private:
  using ServerMap = std::map<iocx_ca_server, ServerKey, KeyLess>;
  struct Learned {
    std::uint32_t ioc;
    Clock::time_point since;
  };

  void keep_left(ServerMap& wanted, Clock::time_point now);
  Result<void> make_room_for(const ServerMap& wanted);
  Result<void> update_servers(const ServerMap& wanted);
  Result<void> update_ports();
  Result<void> watch_port(std::uint16_t port);
  Result<void> leave_port(std::uint16_t port);
  Result<void> forget_spoken(std::uint16_t port);
  Result<void> forget_learned(Clock::time_point now);
  iocx_ca_server exact(const iocx_ca_flow_key& key) const;
  ServerMap::const_iterator find(const iocx_ca_flow_key& key) const;

  const TapObject& object_;
  const TapNetwork& network_;
  const bool remote_;
  ServerMap servers_;  // as the kernel has them
  Ports ports_;        // likewise, those that are watched
  Ports udp_ports_;    // of these, those that no server needs
  std::map<iocx_ca_server, Clock::time_point, KeyLess> left_;  // watched on, since when
  std::map<iocx_ca_server, Learned, KeyLess> learned_;         // as of the last look
  std::map<std::uint16_t, Clock::time_point> spoken_;          // where a server that was to come is
  std::set<std::uint16_t> known_ports_;
  std::set<iocx_ca_server, KeyLess> remote_peers_;
  bool has_changed_ = true;
};

}  // namespace ioc_exporter::puts
