#include "puts/tap/server_detector.h"

namespace ioc_exporter::puts {

std::optional<TapServer> tap_server_at(const iocs::ListeningSocket& socket, std::uint32_t ioc) {
  const auto address = ca_address(socket.address.value_or(InetAddress{}));
  if (!address) return std::nullopt;
  return TapServer{*address, socket.port, ioc, false};
}

std::vector<iocs::Listener> OtherCaDetector::update(const std::set<iocs::Listener>& unclaimed,
                                                    const std::vector<TapServer>& learned,
                                                    std::uint64_t own) {
  std::set<std::uint16_t> answering;
  for (const TapServer& server : learned)
    if (!server.remote) answering.insert(server.port);
  taken_.clear();
  std::vector<iocs::Listener> servers;
  for (const iocs::Listener& listener : unclaimed) {
    if (listener.net_namespace != own) continue;
    taken_.insert(listener.socket.port);
    if (answering.contains(listener.socket.port)) servers.push_back(listener);
  }
  return servers;
}

}  // namespace ioc_exporter::puts
