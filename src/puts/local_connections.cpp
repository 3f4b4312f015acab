#include "puts/local_connections.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace ioc_exporter::puts {
namespace {

// A connection as one of its ends has it: local, remote.
using Ends = std::tuple<InetAddress, std::uint16_t, InetAddress, std::uint16_t>;
// Namespace, address (any: all zeros), port.
using Place = std::tuple<std::uint64_t, InetAddress, std::uint16_t>;

bool is_loopback(const InetAddress& address) {
  constexpr InetAddress kIpv6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const InetAddress ipv4 = ipv4_address(127, address[13], address[14], address[15]);
  return address == kIpv6 || address == ipv4;
}

}  // namespace

const std::vector<InetSocket>& LocalConnections::sockets_of(const SocketOwner& owner) {
  const auto made = sockets_.try_emplace(owner.net_namespace);
  std::vector<InetSocket>& found = made.first->second;
  if (!made.second) return found;
  if (auto table = SocketTable::of_process(fs_, owner.id.pid))
    static_cast<void>(table->for_each(SocketKind::connected,
                                      [&](const InetSocket& socket) { found.push_back(socket); }));
  return found;
}

std::string LocalConnections::user_namespace(const std::string& process) const {
  const auto link = fs_.read_link("/proc/" + process + "/ns/user");
  return link ? *link : "";
}

std::vector<LocalConnection> LocalConnections::between(const std::vector<SocketOwner>& clients,
                                                       const std::vector<SocketOwner>& servers) {
  std::map<Place, const SocketOwner*> places;
  std::set<std::uint16_t> ports;
  for (const SocketOwner& server : servers)
    for (const iocs::ListeningSocket& one : server.listening) {
      places[{server.net_namespace, one.address.value_or(InetAddress{}), one.port}] = &server;
      ports.insert(one.port);
    }
  std::multimap<Ends, std::pair<const InetSocket*, std::uint64_t>> outgoing;
  std::set<std::uint64_t> seen;
  for (const SocketOwner& client : clients) {
    if (!seen.insert(client.net_namespace).second) continue;
    for (const InetSocket& one : sockets_of(client))
      if (ports.contains(one.remote_port))
        outgoing.emplace(Ends{one.local, one.local_port, one.remote, one.remote_port},
                         std::pair(&one, client.net_namespace));
  }
  std::map<std::uint64_t, bool> true_addresses;  // by namespace
  const auto has_true_addresses = [&](std::uint64_t net) {
    const auto [known, is_new] = true_addresses.try_emplace(net, false);
    if (is_new) {
      const std::string own = user_namespace("self");
      known->second = !own.empty() && std::ranges::any_of(clients, [&](const SocketOwner& one) {
        return one.net_namespace == net && user_namespace(std::to_string(one.id.pid)) == own;
      });
    }
    return known->second;
  };
  std::vector<LocalConnection> found;
  seen.clear();
  for (const SocketOwner& server : servers) {
    const std::uint64_t net = server.net_namespace;
    if (outgoing.empty() || !seen.insert(net).second) continue;
    for (const InetSocket& one : sockets_of(server)) {
      const auto [begin, end] =
          outgoing.equal_range(Ends{one.remote, one.remote_port, one.local, one.local_port});
      const InetSocket* here = nullptr;
      std::vector<LocalConnection> elsewhere;
      for (auto other = begin; other != end; ++other) {
        const auto& [socket, its_net] = other->second;
        if (its_net == net)
          here = socket;
        else if (!is_loopback(one.remote) && has_true_addresses(its_net))
          elsewhere.push_back({nullptr, *socket});
      }
      if (here != nullptr) elsewhere = {{nullptr, *here}};
      if (elsewhere.size() != 1) continue;
      auto place = places.find({net, one.local, one.local_port});
      if (place == places.end()) place = places.find({net, InetAddress{}, one.local_port});
      if (place == places.end()) continue;
      elsewhere.front().server = place->second;
      found.push_back(std::move(elsewhere.front()));
    }
  }
  return found;
}

}  // namespace ioc_exporter::puts
