// The part of CaTap that comes and goes with network namespaces, and with what the programs find in
// them.
#include "puts/tap/tap.h"

#include <utility>

namespace ioc_exporter::ca {

Result<std::uint32_t> CaTap::add_namespace(int ns_fd) {
  return namespaces_.add(ns_fd);
}

Result<void> CaTap::remove_namespace(std::uint32_t net) {
  if (net == 0) return error_in_words("leave network namespace 0: it is the exporter's own");
  if (!namespaces_.contains(net)) return {};
  namespaces_.detach(net);
  // Channels that were not looked at yet must be known before their circuits go.
  if (auto ok = observe_channels(Clock::now()); !ok) return ok;
  // All servers in the maps, also those that the programs added since the last look.
  auto servers = object_.maps().servers.keys();
  if (!servers) return std::move(servers).error();
  for (const auto& key : *servers) {
    if (key.net != net) continue;
    if (auto erased = object_.maps().servers.erase(key); !erased) return erased.error();
  }
  auto ports = object_.maps().ports.keys();
  if (!ports) return std::move(ports).error();
  for (const auto& port : *ports)
    if (port.net == net)
      if (auto ok = leave_port(port); !ok) return ok;
  auto flows = object_.maps().flows.keys();
  if (!flows) return std::move(flows).error();
  for (const auto& key : *flows) {
    if (key.net != net) continue;
    auto flow = object_.maps().flows.lookup(key);
    if (!flow) return std::move(flow).error();
    if (!*flow) continue;
    if (auto ok = remove_flow(key, (*flow)->circuit); !ok) return ok;
  }
  const auto is_there = [net](const auto& entry) { return entry.first.net == net; };
  std::erase_if(servers_, is_there);
  std::erase_if(left_servers_, is_there);
  std::erase_if(learned_, is_there);
  std::erase_if(udp_ports_, [net](const iocx_ca_port& port) { return port.net == net; });
  return namespaces_.release(object_, net);
}

// Of all namespaces, with the namespace's number.
Result<void> CaTap::for_each_socket(
    SocketKind kind, const std::function<void(const InetSocket&, std::uint32_t)>& each) const {
  return namespaces_.for_each([&](std::uint32_t net, int ns) -> Result<void> {
    auto sockets = ns < 0 ? Result<SocketTable>(SocketTable::of_thread(options_.fs))
                          : SocketTable::of_namespace(ns);
    if (!sockets) return std::move(sockets).error();
    return sockets->for_each(kind, [&](const InetSocket& socket) { each(socket, net); });
  });
}

Result<CaPorts> CaTap::udp_sockets() const {
  CaPorts ports;
  auto done = for_each_socket(SocketKind::udp, [&](const InetSocket& socket, std::uint32_t net) {
    ports.insert({net, socket.local_port, 0});
  });
  if (!done) return done.error();
  return ports;
}

// Connections to or from a watched port. Keyed as circuits are, with the cookies of the sockets at
// the server's end where that is here.
Result<CaSocketCookies> CaTap::read_all_connections() const {
  CaSocketCookies all;
  const auto note = [&](const InetSocket& socket, std::uint32_t net) {
    const iocx_ca_flow_key key = ca_flow_key(socket, net);
    if (ports_.contains({net, key.server_port, 0})) all.insert_or_assign(key, socket.cookie);
    if (ports_.contains({net, key.client_port, 0})) all.try_emplace(as_client(key), socket.cookie);
  };
  auto done = for_each_socket(SocketKind::connected, note);
  if (!done) return done.error();
  return all;
}

Result<void> CaTap::read_learned(Clock::time_point now) {
  std::map<iocx_ca_server, Learned, CaKeyLess> found;
  auto read = object_.maps().servers.for_each([&](const iocx_ca_server& key, std::uint32_t ioc) {
    if (servers_.contains(key)) return;
    const auto known = learned_.find(key);
    found.emplace(key, Learned{ioc, known == learned_.end() ? now : known->second.since});
  });
  if (!read) return read;
  learned_ = std::move(found);
  for (const auto& [key, learned] : learned_) {
    // The programs do this themselves, but for a port that was just about to be left.
    const iocx_ca_port port{key.net, key.port, 0};
    if (ports_.contains(port)) continue;
    if (auto ok = watch_port(port); !ok) return ok;
  }
  return {};
}

// Servers that no datagram has named for long leave; the programs learn them again if they are
// there.
Result<void> CaTap::forget_learned(Clock::time_point now) {
  if (auto ok = read_learned(now); !ok) return ok;
  for (auto entry = learned_.begin(); entry != learned_.end();) {
    if (now - entry->second.since < kKeepServer) {
      ++entry;
      continue;
    }
    if (auto erased = object_.maps().servers.erase(entry->first); !erased) return erased.error();
    entry = learned_.erase(entry);
    servers_changed_ = true;  // its port may go
  }
  return {};
}

Result<std::vector<CaServer>> CaTap::learned(Clock::time_point now) {
  if (auto ok = read_learned(now); !ok) return ok.error();
  std::vector<CaServer> all;
  for (const auto& [key, learned] : learned_) all.push_back(ca_server_of(key, learned.ioc));
  for (const auto& key : remote_peers_)
    if (!servers_.contains(key) && !learned_.contains(key))
      all.push_back(ca_server_of(key, kCaRemote));
  return all;
}

}  // namespace ioc_exporter::ca
