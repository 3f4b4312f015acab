#include "puts/tap/connections.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ioc_exporter::puts {
namespace {

constexpr const char* kAddresses = "read the host's addresses";

template <class Struct>
std::span<const std::byte> attributes_behind(std::span<const std::byte> body) {
  return body.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(Struct)), body.size()));
}

}  // namespace

std::optional<iocx_ca_address> ca_address(const InetAddress& address) {
  iocx_ca_address result{};
  std::copy_n(address.end() - sizeof result.bytes, sizeof result.bytes, result.bytes);
  if (inet_address(result) != address && !is_any_address(address)) return std::nullopt;
  return result;
}

InetAddress inet_address(const iocx_ca_address& address) {
  const auto& octets = address.bytes;
  return ipv4_address(octets[0], octets[1], octets[2], octets[3]);
}

std::string ca_address_text(const iocx_ca_address& address) {
  return address_text(inet_address(address));
}

std::optional<iocx_ca_flow_key> ca_flow_key(const InetSocket& socket) {
  const auto server = ca_address(socket.local), client = ca_address(socket.remote);
  if (!server || !client) return std::nullopt;
  return iocx_ca_flow_key{*client, *server, socket.remote_port, socket.local_port};
}

iocx_ca_flow_key as_client(const iocx_ca_flow_key& key) {
  iocx_ca_flow_key swapped = key;
  std::swap(swapped.client, swapped.server);
  std::swap(swapped.client_port, swapped.server_port);
  return swapped;
}

Result<LocalRoutes> read_local_routes(Netlink& netlink) {
  LocalRoutes routes;
  // An address of which `length` bits count.
  const auto add = [&routes](std::span<const std::byte> bytes, std::uint32_t length) {
    iocx_ca_local_route route{length, {}};
    if (bytes.size() != sizeof route.address.bytes) return;
    std::memcpy(route.address.bytes, bytes.data(), bytes.size());
    routes.insert(route);
  };
  const auto add_address = [&](std::uint16_t type, std::span<const std::byte> body) {
    const auto one = netlink_struct<ifaddrmsg>(body);
    if (type != RTM_NEWADDR || !one) return;
    const auto attributes = attributes_behind<ifaddrmsg>(body);
    auto bytes = netlink_attribute(attributes, IFA_LOCAL);  // the other is a tunnel's far end then
    if (!bytes) bytes = netlink_attribute(attributes, IFA_ADDRESS);
    if (bytes && one->ifa_family == AF_INET) add(*bytes, 32);
  };
  const auto add_route = [&](std::uint16_t type, std::span<const std::byte> body) {
    const auto one = netlink_struct<rtmsg>(body);
    if (type != RTM_NEWROUTE || !one || one->rtm_type != RTN_LOCAL ||
        one->rtm_table != RT_TABLE_LOCAL || one->rtm_dst_len == 0 || one->rtm_family != AF_INET)
      return;
    if (const auto bytes = netlink_attribute(attributes_behind<rtmsg>(body), RTA_DST))
      add(*bytes, one->rtm_dst_len);
  };
  ifaddrmsg addresses{};
  addresses.ifa_family = AF_INET;
  auto asked = netlink.ask(RTM_GETADDR, NLM_F_DUMP, addresses, kAddresses, add_address);
  if (!asked) return asked.error();
  rtmsg wanted{};
  wanted.rtm_family = AF_INET;
  wanted.rtm_table = RT_TABLE_LOCAL;
  wanted.rtm_type = RTN_LOCAL;
  asked = netlink.ask(RTM_GETROUTE, NLM_F_DUMP, wanted, kAddresses, add_route);
  // A namespace that has had no address has no such table.
  if (!asked && asked.error().code != std::errc::no_such_file_or_directory) return asked.error();
  return routes;
}

bool is_on_route(const iocx_ca_local_route& route, const iocx_ca_address& address) {
  const std::uint32_t bits = route.bits, whole = bits / 8;
  if (std::memcmp(route.address.bytes, address.bytes, whole) != 0) return false;
  const int differ = bits % 8 ? route.address.bytes[whole] ^ address.bytes[whole] : 0;
  return differ >> (8 - bits % 8) == 0;
}

}  // namespace ioc_exporter::puts
