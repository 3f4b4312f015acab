// The part of CaCollector that the put log asks.
#include <string>
#include <utility>

#include "puts/collector.h"

namespace ioc_exporter::ca {

std::optional<CaPutIdentity> CaCollector::identify(const iocx_putlog_event& event) const {
  if (event.source == IOCX_PUTLOG_CA_SERVER && server_probe_) return server_probe_->identify(event);
  if (event.source == IOCX_PUTLOG_CA_TAP && tap_) return tap_->channels().identify(event);
  return std::nullopt;
}

// Ports are those at which no other server listens, at another address, here or elsewhere.
void CaCollector::set_probed_ports() {
  ProbedPorts ports;
  std::set<std::uint16_t> others;
  for (const CaServer& server : addressed_.servers()) others.insert(server.port);
  const std::set<std::uint32_t> heard = server_probe_->heard();
  const auto pva_heard = pva_probe_ != nullptr ? pva_probe_->heard() : std::set<std::uint32_t>();
  for (const auto& [id, live] : host_.live()) {
    if (!live.ioc.own_net_namespace) continue;
    const bool tells =
        heard.contains(live.number) && !tap_->who_counts().results_by_packets(live.number);
    for (const iocs::ListeningSocket& socket : live.ioc.listening) {
      if (tells && live.ca_port == socket.port)
        ports.emplace(socket.port, live.number);
      else if (pva_heard.contains(live.number) &&
               is_pva_port({live.number, &live.ioc, live.ca_port}, socket.port))
        ports.emplace(socket.port, live.number | kPvaServer);
      else
        others.insert(socket.port);
    }
  }
  std::erase_if(ports, [&](const auto& one) { return others.contains(one.first); });
  tap_->set_probed_ports(std::move(ports));
}

std::string CaCollector::server_of(const CaPutPlace& place) const {
  if (!tap_) return "";
  for (const auto& [id, live] : host_.live())
    if (live.number == place.ioc && live.ca_port && live.ioc.own_net_namespace)
      return tap_->circuits().server_of(place, *live.ca_port);
  return "";
}

void CaCollector::look_for_names() {
  if (host_.listeners().rested) return;
  const auto now = Clock::now();
  collect_server_probe(now);
  if (tap_) trouble_.report("look for the names of channels", tap_->observe(now));
}

kernel::LostEvents CaCollector::lost_events(iocx_putlog_source source) const {
  if (source == IOCX_PUTLOG_CA_SERVER && server_probe_) return server_probe_->lost_events();
  return source == IOCX_PUTLOG_CA_TAP && tap_ ? tap_->lost_events() : kernel::LostEvents();
}

}  // namespace ioc_exporter::ca
