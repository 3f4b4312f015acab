#include "puts/gateways.h"

#include <algorithm>
#include <map>

#include "iocs/find/listening_sockets.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::size_t kMostListed = 1000;

// What no address can be: it has a letter, and no colon or slash.
bool is_host_name(const std::string& text) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return text.find_first_of(letters) != std::string::npos &&
         text.find_first_not_of(letters + "0123456789-._") == std::string::npos;
}

// By pair of IOC and client: what the client calls its host.
std::map<std::pair<std::string, std::string>, std::set<std::string>> clients_of(
    const PutsSamples& samples) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> clients;
  const auto add = [&clients](const auto& rows) {
    for (const auto& row : rows) clients[{row.ioc, row.client}].insert(row.host);
  };
  add(samples.puts);
  add(samples.put_failures);
  add(samples.clients);
  return clients;
}

}  // namespace

GatewayList read_gateways(Reader& file) {
  GatewayList list;
  const auto texts = file.texts("gateways");
  if (texts.size() > kMostListed)
    file.complain("gateways", "must be at most " + std::to_string(kMostListed));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto network = ClientNetwork::parse(texts[i]);
    if (network)
      list.networks.push_back(std::move(*network));
    else if (is_host_name(texts[i]))
      list.hosts.insert(texts[i]);
    else
      file.complain("gateways", i, network.error().message());
  }
  return list;
}

void Gateways::use(GatewayList list) {
  const std::scoped_lock lock(mutex_);
  list_ = std::move(list);
}

void Gateways::look(const RootedFs& fs, const std::vector<SocketOwner>& gateways,
                    const std::vector<SocketOwner>& servers, bool remote) {
  LocalConnections sockets(fs);
  std::set<std::uint64_t> inodes;
  std::set<Pair> connected;
  for (const SocketOwner& gateway : gateways) {
    const auto its = iocs::socket_inodes(fs, gateway.id.pid);
    inodes.insert(its.begin(), its.end());
    for (const InetSocket& socket : sockets.sockets_of(gateway))
      if (remote && its.contains(socket.inode))
        connected.emplace(address_text(socket.remote) + ":" + std::to_string(socket.remote_port),
                          address_text(socket.local));
  }
  for (const LocalConnection& one : sockets.between(gateways, servers))
    if (inodes.contains(one.client.inode))
      connected.emplace(one.server->ioc, address_text(one.client.local));
  const std::scoped_lock lock(mutex_);
  found_.insert(connected.begin(), connected.end());
  connected_ = std::move(connected);
}

void Gateways::add_to(PutsSamples& samples, bool by_pva) {
  const std::scoped_lock lock(mutex_);
  if (found_.empty() && list_.networks.empty() && list_.hosts.empty()) return;
  std::set<Pair> named;
  for (const auto& [pair, hosts] : clients_of(samples)) {
    if (found_.contains(pair)) named.insert(pair);
    const auto address = parse_client_address(pair.second);
    const bool listed =
        std::ranges::any_of(hosts,
                            [this](const auto& host) { return list_.hosts.contains(host); }) ||
        (address && std::ranges::any_of(list_.networks, [&](const ClientNetwork& network) {
           return network.contains(*address);
         }));
    if (listed || found_.contains(pair)) samples.gateways.push_back({pair.first, pair.second});
  }
  if (samples.puts_missing) return;
  named_[by_pva] = std::move(named);
  std::erase_if(found_, [this](const Pair& pair) {
    return !connected_.contains(pair) && !named_[0].contains(pair) && !named_[1].contains(pair);
  });
}

}  // namespace ioc_exporter::puts
