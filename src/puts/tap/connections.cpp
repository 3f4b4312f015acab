#include "puts/tap/connections.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ioc_exporter::ca {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

constexpr const char* kAddresses = "read the host's addresses";

template <class Struct>
std::span<const std::byte> attributes_behind(std::span<const std::byte> body) {
  return body.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(Struct)), body.size()));
}

}  // namespace

iocx_ca_address ca_address_v4(const std::uint8_t (&octets)[4]) {
  iocx_ca_address address{};
  std::memcpy(address.bytes, kMappedPrefix.data(), kMappedPrefix.size());
  std::memcpy(address.bytes + kMappedPrefix.size(), octets, sizeof octets);
  return address;
}

bool is_loopback(const iocx_ca_address& address) {
  const std::uint8_t one[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (std::memcmp(address.bytes, kMappedPrefix.data(), kMappedPrefix.size()) == 0)
    return address.bytes[kMappedPrefix.size()] == 127;
  return std::memcmp(address.bytes, one, sizeof one) == 0;
}

std::string ca_address_text(const iocx_ca_address& address) {
  InetAddress bytes{};
  static_assert(sizeof bytes == sizeof address.bytes);
  std::memcpy(bytes.data(), address.bytes, sizeof address.bytes);
  return address_text(bytes);
}

iocx_ca_flow_key ca_flow_key(const InetSocket& socket, std::uint32_t net) {
  iocx_ca_flow_key key{};
  static_assert(sizeof key.server.bytes == sizeof socket.local);
  std::memcpy(key.server.bytes, socket.local.data(), sizeof key.server.bytes);
  std::memcpy(key.client.bytes, socket.remote.data(), sizeof key.client.bytes);
  key.server_port = socket.local_port;
  key.client_port = socket.remote_port;
  key.net = net;
  return key;
}

iocx_ca_flow_key as_client(const iocx_ca_flow_key& key) {
  iocx_ca_flow_key swapped = key;
  std::swap(swapped.client, swapped.server);
  std::swap(swapped.client_port, swapped.server_port);
  return swapped;
}

Result<CaFlowKeys> read_tcp_connections(SocketTable& sockets,
                                        const std::function<bool(std::uint16_t)>& wanted,
                                        std::uint32_t net) {
  CaFlowKeys keys;
  auto read = sockets.for_each(SocketKind::connected, [&](const InetSocket& socket) {
    const iocx_ca_flow_key key = ca_flow_key(socket, net);
    if (wanted(key.server_port)) keys.insert(key);
    if (wanted(key.client_port)) keys.insert(as_client(key));
  });
  if (!read) return read.error();
  return keys;
}

Result<CaLocalRoutes> read_local_routes(Netlink& netlink) {
  CaLocalRoutes routes;
  // An address of which `length` bits count.
  const auto add = [&routes](int family, std::span<const std::byte> bytes, std::uint32_t length) {
    iocx_ca_local_route route{};
    if (family == AF_INET6 && bytes.size() == sizeof route.address.bytes) {
      std::memcpy(route.address.bytes, bytes.data(), sizeof route.address.bytes);
      route.bits = 32u + length;
    } else if (std::uint8_t octets[4]; family == AF_INET && bytes.size() == sizeof octets) {
      std::memcpy(octets, bytes.data(), sizeof octets);
      route.address = ca_address_v4(octets);
      route.bits = 32u + 96u + length;
    } else {
      return;
    }
    routes.insert(route);
  };
  const auto add_address = [&](std::uint16_t type, std::span<const std::byte> body) {
    const auto one = netlink_struct<ifaddrmsg>(body);
    if (type != RTM_NEWADDR || !one) return;
    const auto attributes = attributes_behind<ifaddrmsg>(body);
    auto bytes = netlink_attribute(attributes, IFA_LOCAL);  // the other is a tunnel's far end then
    if (!bytes) bytes = netlink_attribute(attributes, IFA_ADDRESS);
    if (bytes) add(one->ifa_family, *bytes, static_cast<std::uint32_t>(bytes->size()) * 8);
  };
  const auto add_route = [&](std::uint16_t type, std::span<const std::byte> body) {
    const auto one = netlink_struct<rtmsg>(body);
    if (type != RTM_NEWROUTE || !one || one->rtm_type != RTN_LOCAL ||
        one->rtm_table != RT_TABLE_LOCAL || one->rtm_dst_len == 0)
      return;
    if (const auto bytes = netlink_attribute(attributes_behind<rtmsg>(body), RTA_DST))
      add(one->rtm_family, *bytes, one->rtm_dst_len);
  };
  auto asked = netlink.ask(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}, kAddresses, add_address);
  if (!asked) return asked.error();
  for (const int family : {AF_INET, AF_INET6}) {
    rtmsg wanted{};
    wanted.rtm_family = static_cast<unsigned char>(family);
    wanted.rtm_table = RT_TABLE_LOCAL;
    wanted.rtm_type = RTN_LOCAL;
    asked = netlink.ask(RTM_GETROUTE, NLM_F_DUMP, wanted, kAddresses, add_route);
    // A namespace that has had no address of the family has no such table.
    if (!asked && asked.error().code != std::errc::no_such_file_or_directory) return asked.error();
  }
  return routes;
}

bool is_on_route(const iocx_ca_local_route& route, const iocx_ca_address& address) {
  const std::uint32_t bits = route.bits - 32, whole = bits / 8;
  if (std::memcmp(route.address.bytes, address.bytes, whole) != 0) return false;
  const int differ = bits % 8 ? route.address.bytes[whole] ^ address.bytes[whole] : 0;
  return differ >> (8 - bits % 8) == 0;
}

}  // namespace ioc_exporter::ca
