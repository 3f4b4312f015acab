// The part of CaCollector that the put log asks.
#include <string>
#include <utility>

#include "ca/collector.h"

namespace ioc_exporter::ca {

std::optional<CaPutIdentity> CaCollector::identify(const iocx_putlog_event& event) const {
  if (event.source == IOCX_PUTLOG_CA_SERVER && witness_) return witness_->identify(event);
  if (event.source == IOCX_PUTLOG_CA_TAP && tap_) return tap_->identify(event);
  return std::nullopt;
}

// Those at which no other server listens, in another network namespace or at another address.
void CaCollector::silence_told_ports() {
  std::set<std::uint16_t> told, others;
  for (const auto& [id, live] : host_.live()) {
    const bool tells = witness_->heard_since(live.number).has_value();
    for (const iocs::ListeningSocket& socket : live.ioc.listening)
      (tells && live.ca_port == socket.port ? told : others).insert(socket.port);
  }
  for (const std::uint16_t port : others) told.erase(port);
  if (told == silent_ports_) return;
  tap_->object().set_silent_ports(told);
  silent_ports_ = std::move(told);
}

std::string CaCollector::server_of(const CaPutPlace& place) const {
  if (!tap_) return "";
  for (const auto& [id, live] : host_.live()) {
    if (live.number != place.ioc || !live.ca_port) continue;
    const auto net = namespaces_.number(live.ioc.net_namespace);
    return net ? tap_->server_of(place, *live.ca_port, *net) : "";
  }
  return "";
}

void CaCollector::look_for_names() {
  if (host_.listeners().rested) return;
  const auto now = Clock::now();
  collect_witness(now);
  if (tap_) trouble_.report("look for the names of channels", tap_->look(now));
}

kernel::LostEvents CaCollector::lost_events(iocx_putlog_source source) const {
  if (source == IOCX_PUTLOG_CA_SERVER && witness_) return witness_->lost_events();
  return source == IOCX_PUTLOG_CA_TAP && tap_ ? tap_->object().lost_events() : kernel::LostEvents();
}

}  // namespace ioc_exporter::ca
