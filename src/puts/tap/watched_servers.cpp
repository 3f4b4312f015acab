#include "puts/tap/watched_servers.h"

#include <utility>

namespace ioc_exporter::puts {

Result<void> WatchedServers::update(const std::vector<TapServer>& named, Clock::time_point now) {
  if (auto ok = forget_learned(now); !ok) return ok;
  ServerMap wanted;
  for (const TapServer& server : named)
    wanted.insert_or_assign(tap_server_key(server), ServerKey{server.ioc, server.protocol});
  keep_left(wanted, now);
  if (auto ok = make_room_for(wanted); !ok) return ok;
  if (auto ok = update_servers(wanted); !ok) return ok;
  // Last, so that a port that is watched has its server.
  return update_ports();
}

// Adds the servers that are not named any more, for kKeep.
void WatchedServers::keep_left(ServerMap& wanted, Clock::time_point now) {
  for (const auto& [key, ioc] : servers_)
    if (!wanted.contains(key)) left_.try_emplace(key, now);
  std::erase_if(left_, [&](const auto& entry) {
    return wanted.contains(entry.first) || now - entry.second >= kKeep;
  });
  for (const auto& [key, since] : left_)
    wanted.emplace(key, key.remote ? ServerKey{kRemoteServer, Protocol::ca}
                                   : ServerKey{kIocToCome, servers_.at(key).protocol});
}

// Makes room for named servers among those that the programs learned from datagrams on this host.
Result<void> WatchedServers::make_room_for(const ServerMap& wanted) {
  if (wanted.size() + learned_.size() <= object_.maps().servers.capacity() / 4 * 3) return {};
  for (auto entry = learned_.begin(); entry != learned_.end();) {
    if (!wanted.contains(entry->first))
      if (auto erased = object_.maps().servers.erase(entry->first); !erased) return erased.error();
    entry = learned_.erase(entry);
  }
  return {};
}

Result<void> WatchedServers::update_servers(const ServerMap& wanted) {
  for (auto entry = servers_.begin(); entry != servers_.end();) {
    if (wanted.contains(entry->first)) {
      ++entry;
      continue;
    }
    if (auto erased = object_.maps().servers.erase(entry->first); !erased) return erased.error();
    if (auto ok = forget_spoken(entry->first.port); !ok) return ok;
    entry = servers_.erase(entry);
    has_changed_ = true;
  }
  for (const auto& [key, server] : wanted) {
    const auto known = servers_.find(key);
    if (known != servers_.end() && known->second == server) continue;
    if (auto ok = object_.maps().servers.update(key, kernel_number(server)); !ok) return ok;
    servers_.insert_or_assign(key, server);
    learned_.erase(key);
    has_changed_ = true;
    if (!is_ioc_number(server.ioc)) continue;
    known_ports_.insert(key.port);
    if (auto ok = forget_spoken(key.port); !ok) return ok;
  }
  return {};
}

Result<void> WatchedServers::update_ports() {
  Ports wanted = udp_ports_;
  for (const auto& [key, ioc] : servers_) wanted.insert(key.port);
  for (const auto& [key, learned] : learned_) wanted.insert(key.port);
  const Ports before = ports_;
  for (const std::uint16_t port : before)
    if (!wanted.contains(port))
      if (auto ok = leave_port(port); !ok) return ok;
  for (const std::uint16_t port : wanted)
    if (auto ok = watch_port(port); !ok) return ok;
  return {};
}

// Inserting a port sets its bit: see iocx_ca_port_set.
Result<void> WatchedServers::watch_port(std::uint16_t port) {
  if (ports_.contains(port)) return {};
  auto inserted =
      object_.maps().ports.update(port, IOCX_CA_PORT_WATCHED, kernel::UpdateMode::only_new);
  if (inserted) {
    auto& word = object_.watched_ports().words[port / 64u];
    __atomic_or_fetch(&word, std::uint64_t{1} << (port % 64u), __ATOMIC_RELEASE);
  } else if (inserted.error().code != std::errc::file_exists) {
    return inserted;
  }
  ports_.insert(port);
  return {};
}

Result<void> WatchedServers::leave_port(std::uint16_t port) {
  auto& word = object_.watched_ports().words[port / 64u];
  __atomic_and_fetch(&word, ~(std::uint64_t{1} << (port % 64u)), __ATOMIC_RELEASE);
  if (auto erased = object_.maps().ports.erase(port); !erased) return erased.error();
  ports_.erase(port);
  spoken_.erase(port);
  return {};
}

// What comes to that port next has to speak for itself.
Result<void> WatchedServers::forget_spoken(std::uint16_t port) {
  spoken_.erase(port);
  if (!ports_.contains(port)) return {};
  return object_.maps().ports.update(port, IOCX_CA_PORT_WATCHED, kernel::UpdateMode::only_existing);
}

Result<void> WatchedServers::read_learned(Clock::time_point now) {
  std::map<iocx_ca_server, Learned, KeyLess> found;
  auto read = object_.maps().servers.for_each([&](const iocx_ca_server& key, std::uint32_t ioc) {
    if (servers_.contains(key)) return;
    const auto known = learned_.find(key);
    found.emplace(key, Learned{ioc, known == learned_.end() ? now : known->second.since});
  });
  if (!read) return read;
  learned_ = std::move(found);
  read = object_.maps().ports.for_each([&](std::uint32_t port, std::uint32_t state) {
    if (state == IOCX_CA_PORT_SPOKE) spoken_.try_emplace(static_cast<std::uint16_t>(port), now);
  });
  if (!read) return read;
  // The programs do this themselves, but for a port that was just about to be left.
  for (const auto& [key, learned] : learned_)
    if (auto ok = watch_port(key.port); !ok) return ok;
  return {};
}

// Servers that no datagram has named for long leave; the programs learn them again if they are
// there.
Result<void> WatchedServers::forget_learned(Clock::time_point now) {
  if (auto ok = read_learned(now); !ok) return ok;
  for (auto entry = learned_.begin(); entry != learned_.end();) {
    if (now - entry->second.since < kKeep) {
      ++entry;
      continue;
    }
    if (auto erased = object_.maps().servers.erase(entry->first); !erased) return erased.error();
    entry = learned_.erase(entry);
  }
  const auto spoken = spoken_;
  for (const auto& [port, since] : spoken)
    if (now - since >= kKeep)
      if (auto ok = forget_spoken(port); !ok) return ok;
  return {};
}

Result<std::vector<TapServer>> WatchedServers::learned(Clock::time_point now) {
  if (auto ok = read_learned(now); !ok) return ok.error();
  std::vector<TapServer> all;
  for (const auto& [key, learned] : learned_) all.push_back(tap_server_of(key, learned.ioc));
  for (const auto& [port, since] : spoken_)
    if (!learned_.contains({{}, port, 0})) all.push_back({{}, port, kIocToCome, false});
  for (const auto& key : remote_peers_)
    if (!servers_.contains(key) && !learned_.contains(key))
      all.push_back(tap_server_of(key, kRemoteServer));
  return all;
}

// Of a client of this host, the server may be on another one.
iocx_ca_server WatchedServers::exact(const iocx_ca_flow_key& key) const {
  const bool is_elsewhere =
      remote_ && !is_loopback(key.server) && !network_.has_address(key.server);
  return {key.server, key.server_port, is_elsewhere};
}

// As find_server() of tap/tap_packet.bpf.h.
WatchedServers::ServerMap::const_iterator WatchedServers::find(const iocx_ca_flow_key& key) const {
  iocx_ca_server server = exact(key);
  const auto found = servers_.find(server);
  if (found != servers_.end()) return found;
  server.address = {};
  return servers_.find(server);
}

std::optional<ServerKey> WatchedServers::named_at(const iocx_ca_flow_key& key) const {
  const auto server = find(key);
  if (server == servers_.end() || !is_ioc_number(server->second.ioc)) return std::nullopt;
  return server->second;
}

bool WatchedServers::knows(const iocx_ca_flow_key& key) const {
  iocx_ca_server server = exact(key);
  if (find(key) != servers_.end() || learned_.contains(server)) return true;
  server.address = {};
  return learned_.contains(server);
}

std::optional<iocx_ca_server> WatchedServers::remote_peer(const iocx_ca_flow_key& key) const {
  const auto server = find(key);
  if (server == servers_.end() || !server->first.remote ||
      __builtin_memcmp(&server->first.address, &key.server, sizeof key.server) == 0)
    return std::nullopt;
  return iocx_ca_server{key.server, key.server_port, 1};
}

}  // namespace ioc_exporter::puts
