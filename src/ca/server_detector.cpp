#include "ca/server_detector.h"

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
                                                     const std::vector<CaVerdict>& verdicts,
                                                     const std::vector<CaServer>& learned,
                                                     const NetOf& net_of, Clock::time_point now) {
  std::map<iocx_ca_server, bool, CaKeyLess> said;
  for (const CaVerdict& verdict : verdicts)
    said.emplace(ca_server_key(verdict.server), verdict.speaks_ca);
  std::set<std::pair<std::uint32_t, std::uint16_t>> answering;
  for (const CaServer& server : learned)
    if (!server.remote) answering.emplace(server.net, server.port);
  std::erase_if(silent_, [&](const auto& one) {
    return !unclaimed.contains(one.first) || now - one.second >= kSecondLook;
  });
  candidates_.clear();
  taken_.clear();

  std::vector<iocs::Listener> speaking;
  for (const iocs::Listener& listener : unclaimed) {
    const auto net = net_of(listener.net_namespace);
    if (!net) continue;
    const CaServer server = ca_server(listener.socket, *net, kCaCandidate);
    const auto verdict = said.find(ca_server_key(server));
    const bool judged = verdict != said.end();
    taken_.emplace(*net, server.port);
    if ((judged && verdict->second) || answering.contains({*net, server.port})) {
      speaking.push_back(listener);
      silent_.erase(listener);
    } else if (judged) {
      silent_.insert_or_assign(listener, now);
    }
    if (!silent_.contains(listener)) candidates_.push_back(server);
  }
  return speaking;
}

}  // namespace ioc_exporter::ca
