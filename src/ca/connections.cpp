#include "ca/connections.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace ioc_exporter::ca {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

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

Result<CaAddresses> read_local_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return last_error("read the host's addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  CaAddresses addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    iocx_ca_address address{};
    if (one->ifa_addr->sa_family == AF_INET) {
      sockaddr_in in;
      std::memcpy(&in, one->ifa_addr, sizeof in);
      std::uint8_t octets[4];
      std::memcpy(octets, &in.sin_addr, sizeof octets);
      address = ca_address_v4(octets);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 in;
      std::memcpy(&in, one->ifa_addr, sizeof in);
      std::memcpy(address.bytes, &in.sin6_addr, sizeof address.bytes);
    } else {
      continue;
    }
    addresses.insert(address);
  }
  return addresses;
}

}  // namespace ioc_exporter::ca
