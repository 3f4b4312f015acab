#include "puts/tap/server_detector.h"

#include <algorithm>

namespace ioc_exporter::ca {

CaServer ca_server(const iocs::ListeningSocket& socket, std::uint32_t net, std::uint32_t ioc) {
  CaServer server;
  if (socket.address)
    std::copy(socket.address->begin(), socket.address->end(), server.address.bytes);
  server.port = socket.port;
  server.ioc = ioc;
  server.net = net;
  return server;
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
