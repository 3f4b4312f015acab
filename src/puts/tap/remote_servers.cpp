#include "puts/tap/remote_servers.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::puts {
namespace {

bool is_any(const iocx_ca_address& address) {
  return is_any_address(inet_address(address));
}

}  // namespace

std::string address_name(const iocx_ca_address& address, std::uint16_t port) {
  return (is_any(address) ? "" : ca_address_text(address)) + ":" + std::to_string(port);
}

void RemoteServers::add(const std::vector<TapServer>& found, iocs::Host& host,
                        Clock::time_point now) {
  for (const TapServer& server : found) {
    const iocx_ca_server key = tap_server_key(server);
    if (const auto known = known_.find(key); known != known_.end()) {
      known->second.last_used = now;
      continue;
    }
    // A wildcard is no server but a place for them.
    if (server.remote && is_any(server.address)) continue;
    std::string name = address_name(server.address, server.port);
    if (known_.size() >= kMostServers || !options_.filter.wants(name)) continue;
    const std::uint32_t number = host.number_of(name);
    known_.emplace(key, Known{std::move(name), number, now});
  }
}

void RemoteServers::release_unused(const std::set<std::uint32_t>& circuits, iocs::Host& host,
                                   Clock::time_point now) {
  for (auto one = known_.begin(); one != known_.end();) {
    Known& known = one->second;
    if (circuits.contains(known.number)) known.last_used = now;
    if (now - known.last_used < std::max<Clock::duration>(options_.keep, kLeast)) {
      ++one;
      continue;
    }
    const std::string name = std::move(known.name);
    one = known_.erase(one);
    // An address that has moved to this host is known twice.
    if (std::ranges::none_of(known_,
                             [&name](const auto& other) { return other.second.name == name; }))
      host.release(name);
  }
}

std::vector<TapServer> RemoteServers::servers() const {
  std::vector<TapServer> servers;
  for (const auto& [key, known] : known_) servers.push_back(tap_server_of(key, known.number));
  if (!options_.remote) return servers;
  for (const std::uint16_t port : options_.ports)
    servers.push_back({{}, port, kRemoteServer, true});
  return servers;
}

}  // namespace ioc_exporter::puts
