#include "app/listener_judge.h"

#include <algorithm>

namespace ioc_exporter::app {

probes::CaServer ca_server(const discovery::ListeningSocket& socket, std::uint32_t net,
                           std::uint32_t ioc) {
  probes::CaServer server;
  if (socket.address)
    std::copy(socket.address->begin(), socket.address->end(), server.address.bytes);
  server.port = socket.port;
  server.ioc = ioc;
  server.net = net;
  return server;
}

std::vector<discovery::Listener> ListenerJudge::take_in(
    const std::set<discovery::Listener>& unclaimed, const std::vector<probes::CaVerdict>& verdicts,
    const std::vector<probes::CaServer>& learned, const NetOf& net_of, Clock::time_point now) {
  std::map<iocx_ca_server, bool, probes::CaKeyLess> said;
  for (const probes::CaVerdict& verdict : verdicts)
    said.emplace(probes::ca_server_key(verdict.server), verdict.speaks_ca);
  std::set<std::pair<std::uint32_t, std::uint16_t>> answering;
  for (const probes::CaServer& server : learned)
    if (!server.remote) answering.emplace(server.net, server.port);
  std::erase_if(silent_, [&](const auto& one) {
    return !unclaimed.contains(one.first) || now - one.second >= kSecondLook;
  });
  candidates_.clear();
  taken_.clear();

  std::vector<discovery::Listener> speaking;
  for (const discovery::Listener& listener : unclaimed) {
    const auto net = net_of(listener.net_namespace);
    if (!net) continue;
    const probes::CaServer server = ca_server(listener.socket, *net, probes::kCaCandidate);
    const auto verdict = said.find(probes::ca_server_key(server));
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

}  // namespace ioc_exporter::app
