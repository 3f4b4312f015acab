#include "puts/tap/namespaces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ioc_exporter::ca {
namespace {

// Removes from the map the elements of `known` that are not in `found`, and inserts new ones.
// `key_of` makes the key of an element.
template <class Set, class Map, class KeyOf>
Result<void> replace(const Map& map, Set& known, Set found, const KeyOf& key_of) {
  for (const auto& one : known) {
    if (found.contains(one)) continue;
    if (auto erased = map.erase(key_of(one)); !erased) return std::move(erased).error();
  }
  for (const auto& one : found) {
    if (known.contains(one)) continue;
    if (auto ok = map.update(key_of(one), 1); !ok) return ok;
  }
  known = std::move(found);
  return {};
}

Result<void> replace_addresses(const CaTapObject& object, std::uint32_t net, CaAddresses& known,
                               CaAddresses found) {
  return replace(object.maps().local_addresses, known, std::move(found),
                 [net](const iocx_ca_address& address) {
                   return iocx_ca_local{address, net};
                 });
}

Result<void> replace_routes(const CaTapObject& object, std::uint32_t net, CaLocalRoutes& known,
                            CaLocalRoutes found) {
  return replace(object.maps().local_routes, known, std::move(found),
                 [net](iocx_ca_local_route route) {
                   route.net = net;
                   return route;
                 });
}

Result<struct stat> identity(int ns_fd) {
  struct stat status {};
  if (::fstat(ns_fd, &status) != 0) return last_error("look at a network namespace");
  return status;
}

}  // namespace

Result<CaNamespaces> CaNamespaces::start(const CaTapObject& object) {
  const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return last_error("open /proc/thread-self/ns/net");
  const auto id = identity(own.get());
  if (!id) return id.error();
  CaNamespaces namespaces(object);
  if (auto ok = namespaces.taps_.open(0, -1); !ok) return ok.error();
  namespaces.all_.emplace(0u, Namespace{{}, id->st_dev, id->st_ino, {}, {}});
  return namespaces;
}

Result<std::uint32_t> CaNamespaces::add(int ns_fd) {
  const auto id = identity(ns_fd);
  if (!id) return id.error();
  for (const auto& [net, one] : all_)
    if (one.device == id->st_dev && one.inode == id->st_ino) return net;
  const auto net = free_number();
  if (!net)
    return error_in_words("watch a network namespace: " + std::to_string(IOCX_CA_NAMESPACES) +
                          " are watched already");
  UniqueFd ns(::fcntl(ns_fd, F_DUPFD_CLOEXEC, 0));
  if (!ns) return last_error("keep a network namespace");
  auto tapped = detached_ ? taps_.load(*net) : taps_.open(*net, ns_fd);
  if (!tapped) {
    taps_.drop(*net);
    return std::move(tapped).error();
  }
  all_.emplace(*net, Namespace{std::move(ns), id->st_dev, id->st_ino, {}, {}});
  return *net;
}

std::optional<std::uint32_t> CaNamespaces::number(std::uint64_t inode) const {
  const auto found =
      std::ranges::find_if(all_, [inode](const auto& one) { return one.second.inode == inode; });
  return found == all_.end() ? std::nullopt : std::optional(found->first);
}

std::optional<std::uint32_t> CaNamespaces::free_number() const {
  for (std::uint32_t net = 0; net < IOCX_CA_NAMESPACES; ++net)
    if (!all_.contains(net)) return net;
  return std::nullopt;
}

void CaNamespaces::detach(std::uint32_t net) {
  taps_.close(net);
}

void CaNamespaces::detach_all() {
  detached_ = true;
  for (auto& [net, one] : all_) taps_.close(net);
}

Result<void> CaNamespaces::attach_all() {
  detached_ = false;
  return for_each([this](std::uint32_t net, int ns) { return taps_.open(net, ns); });
}

Result<void> CaNamespaces::release(const CaTapObject& object, std::uint32_t net) {
  const auto found = all_.find(net);
  if (found == all_.end()) return {};
  if (auto ok = replace_addresses(object, net, found->second.addresses, {}); !ok) return ok;
  if (auto ok = replace_routes(object, net, found->second.routes, {}); !ok) return ok;
  taps_.drop(net);
  all_.erase(found);
  return update_addresses_of_any(object);
}

Result<void> CaNamespaces::for_each(
    const std::function<Result<void>(std::uint32_t, int)>& each) const {
  Result<void> first;
  for (const auto& [net, one] : all_)
    if (auto done = each(net, one.ns.get()); !done && first) first = std::move(done);
  return first;
}

Result<void> CaNamespaces::update_addresses(const CaTapObject& object) {
  Result<void> first;
  for (auto& [net, one] : all_)
    if (auto done = update_addresses_of(object, net, one); !done && first) first = std::move(done);
  auto done = update_addresses_of_any(object);
  return first ? std::move(done) : std::move(first);
}

Result<void> CaNamespaces::update_addresses_of(const CaTapObject& object, std::uint32_t net,
                                               Namespace& one) {
  if (!one.route) {
    constexpr const char* kAction = "read the addresses of a network namespace";
    auto opened = one.ns ? Netlink::open_in(one.ns.get(), NETLINK_ROUTE, kAction)
                         : Netlink::open(NETLINK_ROUTE, kAction);
    if (!opened) return std::move(opened).error();
    one.route.emplace(std::move(*opened));
  }
  auto found = read_local_addresses(*one.route);
  if (!found) {
    one.route.reset();
    return std::move(found).error();
  }
  auto routes = read_local_routes(*one.route);
  if (!routes) {
    one.route.reset();
    return std::move(routes).error();
  }
  // Of each address of a device there is such a route as well.
  std::erase_if(*routes, [&found](const iocx_ca_local_route& route) {
    return route.bits == IOCX_CA_ROUTE_BITS && found->contains(route.address);
  });
  if (auto ok = replace_routes(object, net, one.routes, std::move(*routes)); !ok) return ok;
  return replace_addresses(object, net, one.addresses, std::move(*found));
}

Result<void> CaNamespaces::update_addresses_of_any(const CaTapObject& object) {
  CaAddresses any;
  CaLocalRoutes any_route;
  for (const auto& [net, one] : all_) {
    any.insert(one.addresses.begin(), one.addresses.end());
    any_route.insert(one.routes.begin(), one.routes.end());
  }
  if (auto ok = replace_routes(object, IOCX_CA_NET_ANY, any_route_, std::move(any_route)); !ok)
    return ok;
  return replace_addresses(object, IOCX_CA_NET_ANY, any_, std::move(any));
}

bool CaNamespaces::has_address(std::uint32_t net, const iocx_ca_address& address) const {
  const auto found = all_.find(net);
  if (found == all_.end()) return false;
  const auto is_on = [&address](const auto& route) { return is_on_route(route, address); };
  return found->second.addresses.contains(address) ||
         std::ranges::any_of(found->second.routes, is_on);
}

}  // namespace ioc_exporter::ca
