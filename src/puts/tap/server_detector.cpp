#include "puts/tap/server_detector.h"

namespace ioc_exporter::ca {

std::optional<CaServer> ca_server(const iocs::ListeningSocket& socket, std::uint32_t net,
                                  std::uint32_t ioc) {
  const auto address = ca_address(socket.address.value_or(InetAddress{}));
  if (!address) return std::nullopt;
  return CaServer{*address, socket.port, ioc, net, false};
}

std::vector<iocs::Listener> CaServerDetector::update(const std::set<iocs::Listener>& unclaimed,
                                                     const std::vector<CaServer>& learned,
                                                     const NetOf& net_of) {
  std::set<std::pair<std::uint32_t, std::uint16_t>> answering;
  for (const CaServer& server : learned)
    if (!server.remote) answering.emplace(server.net, server.port);
  taken_.clear();
  std::vector<iocs::Listener> servers;
  for (const iocs::Listener& listener : unclaimed) {
    const auto net = net_of(listener.net_namespace);
    if (!net) continue;
    taken_.emplace(*net, listener.socket.port);
    if (answering.contains({*net, listener.socket.port})) servers.push_back(listener);
  }
  return servers;
}

}  // namespace ioc_exporter::ca
