#include "ca/namespaces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/net_namespace.h"

namespace ioc_exporter::ca {
namespace {

// What of `known` is not in `found` leaves the map, what is new there enters it.
Result<void> replace_addresses(const CaTapObject& object, std::uint32_t net, CaAddresses& known,
                               CaAddresses found) {
  for (const auto& address : known) {
    if (found.contains(address)) continue;
    if (auto erased = object.maps().local_addresses.erase({address, net}); !erased)
      return std::move(erased).error();
  }
  for (const auto& address : found) {
    if (known.contains(address)) continue;
    if (auto ok = object.maps().local_addresses.update({address, net}, 1); !ok) return ok;
  }
  known = std::move(found);
  return {};
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
  auto filter = CaPacketFilter::load(0, object.shared_maps());
  if (!filter) return std::move(filter).error();
  auto socket = filter->attach();
  if (!socket) return std::move(socket).error();
  CaNamespaces namespaces;
  namespaces.all_.emplace(
      0u, Namespace{std::move(*filter), {}, id->st_dev, id->st_ino, std::move(*socket), {}});
  return namespaces;
}

Result<std::uint32_t> CaNamespaces::add(const CaTapObject& object, int ns_fd) {
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
  auto filter = CaPacketFilter::load(*net, object.shared_maps());
  if (!filter) return std::move(filter).error();
  Result<UniqueFd> socket = UniqueFd();
  if (!detached_) {
    auto entered = in_net_namespace(ns_fd, [&] { socket = filter->attach(); });
    if (!entered) return std::move(entered).error();
    if (!socket) return std::move(socket).error();
  }
  all_.emplace(
      *net,
      Namespace{std::move(*filter), std::move(ns), id->st_dev, id->st_ino, std::move(*socket), {}});
  return *net;
}

std::optional<std::uint32_t> CaNamespaces::free_number() const {
  for (std::uint32_t net = 0; net < IOCX_CA_NAMESPACES; ++net)
    if (!all_.contains(net)) return net;
  return std::nullopt;
}

void CaNamespaces::detach(std::uint32_t net) {
  if (const auto found = all_.find(net); found != all_.end()) found->second.socket.reset();
}

void CaNamespaces::detach_all() {
  detached_ = true;
  for (auto& [net, one] : all_) one.socket.reset();
}

Result<void> CaNamespaces::attach_all() {
  detached_ = false;
  return in_each([this](std::uint32_t net) -> Result<void> {
    Namespace& one = all_.at(net);
    if (one.socket) return {};
    auto socket = one.filter.attach();
    if (!socket) return std::move(socket).error();
    one.socket = std::move(*socket);
    return {};
  });
}

std::uint64_t CaNamespaces::attachments() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      all_, [](const auto& entry) { return static_cast<bool>(entry.second.socket); }));
}

Result<void> CaNamespaces::release(const CaTapObject& object, std::uint32_t net) {
  const auto found = all_.find(net);
  if (found == all_.end()) return {};
  if (auto ok = replace_addresses(object, net, found->second.addresses, {}); !ok) return ok;
  kernel::add_stats(past_, found->second.filter.stats());
  all_.erase(found);
  return update_addresses_of_any(object);
}

Result<void> CaNamespaces::in_each(const std::function<Result<void>(std::uint32_t)>& each) const {
  Result<void> first;
  for (const auto& [net, one] : all_) {
    Result<void> done;
    const auto call = [&each, &done, net = net] { done = each(net); };
    if (!one.ns)
      call();
    else if (auto entered = in_net_namespace(one.ns.get(), call); !entered)
      done = std::move(entered);
    if (!done && first) first = std::move(done);
  }
  return first;
}

Result<void> CaNamespaces::update_addresses(const CaTapObject& object) {
  Result<void> first = in_each([&](std::uint32_t net) -> Result<void> {
    auto found = read_local_addresses();
    if (!found) return std::move(found).error();
    return replace_addresses(object, net, all_.at(net).addresses, std::move(*found));
  });
  auto done = update_addresses_of_any(object);
  return first ? std::move(done) : std::move(first);
}

Result<void> CaNamespaces::update_addresses_of_any(const CaTapObject& object) {
  CaAddresses any;
  for (const auto& [net, one] : all_) any.insert(one.addresses.begin(), one.addresses.end());
  return replace_addresses(object, IOCX_CA_NET_ANY, any_, std::move(any));
}

bool CaNamespaces::has_address(std::uint32_t net, const iocx_ca_address& address) const {
  const auto found = all_.find(net);
  return found != all_.end() && found->second.addresses.contains(address);
}

std::optional<kernel::ProgramStats> CaNamespaces::stats() const {
  std::optional<kernel::ProgramStats> sum = past_;
  for (const auto& [net, one] : all_) kernel::add_stats(sum, one.filter.stats());
  return sum;
}

}  // namespace ioc_exporter::ca
