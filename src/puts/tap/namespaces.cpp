#include "puts/tap/namespaces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ioc_exporter::ca {
namespace {

constexpr const char* kReadAddresses = "read the addresses of a network namespace";

// Has the programs know `found` in place of `known`.
Result<void> replace(const CaTapObject& object, std::uint32_t net, CaLocalRoutes& known,
                     CaLocalRoutes found) {
  const auto in_net = [net](iocx_ca_local_route route) {
    route.net = net;
    return route;
  };
  const auto& map = object.maps().local;
  for (const auto& one : known)
    if (!found.contains(one))
      if (auto erased = map.erase(in_net(one)); !erased) return std::move(erased).error();
  for (const auto& one : found)
    if (!known.contains(one))
      if (auto ok = map.update(in_net(one), 1); !ok) return ok;
  known = std::move(found);
  return {};
}

Result<struct stat> identity(int ns_fd) {
  struct stat status {};
  if (::fstat(ns_fd, &status) != 0) return last_error("look at a network namespace");
  return status;
}

}  // namespace

template <class All, class Each>
Result<void> CaNamespaces::for_each(All& all, Each each) {
  Result<void> first;
  for (auto& [net, one] : all)
    if (auto done = each(net, one); !done && first) first = std::move(done);
  return first;
}

Result<void> CaNamespaces::open_own() {
  const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return last_error("open /proc/thread-self/ns/net");
  const auto id = identity(own.get());
  if (!id) return id.error();
  all_.emplace(0u, Namespace{{}, id->st_dev, id->st_ino});
  return taps_.open(0, -1);
}

Result<std::uint32_t> CaNamespaces::add(int ns_fd) {
  const auto id = identity(ns_fd);
  if (!id) return id.error();
  std::uint32_t net = 0;  // the first that is free
  for (const auto& [number, one] : all_) {
    if (one.device == id->st_dev && one.inode == id->st_ino) return number;
    if (number == net) ++net;
  }
  if (net == IOCX_CA_NAMESPACES)
    return error_in_words("watch a network namespace: " + std::to_string(IOCX_CA_NAMESPACES) +
                          " are watched already");
  UniqueFd ns(::fcntl(ns_fd, F_DUPFD_CLOEXEC, 0));
  if (!ns) return last_error("keep a network namespace");
  auto tapped = detached_ ? taps_.load(net) : taps_.open(net, ns_fd);
  if (!tapped) {
    taps_.drop(net);
    return std::move(tapped).error();
  }
  all_.emplace(net, Namespace{std::move(ns), id->st_dev, id->st_ino});
  return net;
}

void CaNamespaces::detach_all() {
  detached_ = true;
  for (auto& [net, one] : all_) taps_.close(net);
}

Result<void> CaNamespaces::attach_all() {
  detached_ = false;
  return for_each(all_, [this](std::uint32_t net, const Namespace& one) {
    return taps_.open(net, one.ns.get());
  });
}

Result<void> CaNamespaces::release(std::uint32_t net) {
  const auto found = all_.find(net);
  if (found == all_.end()) return {};
  if (auto ok = replace(object_, net, found->second.local, {}); !ok) return ok;
  taps_.drop(net);
  all_.erase(found);
  return update_addresses_of_any();
}

Result<void> CaNamespaces::update_addresses() {
  auto first = for_each(
      all_, [this](std::uint32_t net, Namespace& one) { return update_addresses_of(net, one); });
  auto done = update_addresses_of_any();
  return first ? std::move(done) : std::move(first);
}

Result<void> CaNamespaces::update_addresses_of(std::uint32_t net, Namespace& one) const {
  if (!one.route) {
    auto opened = one.ns ? Netlink::open_in(one.ns.get(), NETLINK_ROUTE, kReadAddresses)
                         : Netlink::open(NETLINK_ROUTE, kReadAddresses);
    if (!opened) return std::move(opened).error();
    one.route.emplace(std::move(*opened));
  }
  auto found = read_local_routes(*one.route);
  if (!found) {
    one.route.reset();
    return std::move(found).error();
  }
  return replace(object_, net, one.local, std::move(*found));
}

Result<void> CaNamespaces::update_addresses_of_any() {
  CaLocalRoutes any;
  for (const auto& [net, one] : all_) any.insert(one.local.begin(), one.local.end());
  return replace(object_, IOCX_CA_NET_ANY, any_, std::move(any));
}

bool CaNamespaces::has_address(std::uint32_t net, const iocx_ca_address& address) const {
  const auto found = all_.find(net);
  return found != all_.end() &&
         std::ranges::any_of(found->second.local,
                             [&address](const auto& route) { return is_on_route(route, address); });
}

Result<void> CaNamespaces::for_each_socket(
    SocketKind kind, const std::function<void(const InetSocket&, std::uint32_t)>& each) const {
  return for_each(all_, [&](std::uint32_t net, const Namespace& one) -> Result<void> {
    auto sockets = one.ns ? SocketTable::of_namespace(one.ns.get())
                          : Result<SocketTable>(SocketTable::of_thread(fs_));
    if (!sockets) return std::move(sockets).error();
    return sockets->for_each(kind, [&](const InetSocket& socket) { each(socket, net); });
  });
}

Result<CaPorts> CaNamespaces::udp_sockets() const {
  CaPorts ports;
  auto done = for_each_socket(SocketKind::udp, [&](const InetSocket& socket, std::uint32_t net) {
    ports.insert({net, socket.local_port, 0});
  });
  if (!done) return done.error();
  return ports;
}

}  // namespace ioc_exporter::ca
