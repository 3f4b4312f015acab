#include "puts/tap/network.h"

#include <algorithm>

namespace ioc_exporter::puts {

Result<void> TapNetwork::update_addresses() {
  if (!route_) {
    auto opened = Netlink::open(NETLINK_ROUTE, "read the host's addresses");
    if (!opened) return std::move(opened).error();
    route_.emplace(std::move(*opened));
  }
  auto found = read_local_routes(*route_);
  if (!found) {
    route_.reset();
    return std::move(found).error();
  }
  const auto& map = object_.maps().local;
  for (const auto& one : local_)
    if (!found->contains(one))
      if (auto erased = map.erase(one); !erased) return std::move(erased).error();
  for (const auto& one : *found)
    if (!local_.contains(one))
      if (auto ok = map.update(one, 1); !ok) return ok;
  local_ = std::move(*found);
  return {};
}

bool TapNetwork::has_address(const iocx_ca_address& address) const {
  return std::ranges::any_of(local_,
                             [&address](const auto& route) { return is_on_route(route, address); });
}

Result<void> TapNetwork::for_each_socket(SocketKind kind, const SocketTable::Visit& each) const {
  return SocketTable::of_thread(fs_).for_each(kind, each);
}

Result<Ports> TapNetwork::udp_sockets() const {
  Ports ports;
  auto done = for_each_socket(
      SocketKind::udp, [&ports](const InetSocket& socket) { ports.insert(socket.local_port); });
  if (!done) return done.error();
  return ports;
}

}  // namespace ioc_exporter::puts
