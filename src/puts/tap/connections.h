// TCP connections of this host and addresses as the tap's maps hold them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/netlink.h"
#include "base/result.h"
#include "base/socket_table.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::puts {

// Order of keys; padding is part of what the kernel compares, so it is here too.
struct KeyLess {
  template <class Key>
  bool operator()(const Key& a, const Key& b) const {
    return __builtin_memcmp(&a, &b, sizeof(Key)) < 0;
  }
};
// Of the kernel's sockets; 0: not known.
using SocketCookies = std::map<iocx_ca_flow_key, std::uint64_t, KeyLess>;
using Ports = std::set<std::uint16_t>;
using LocalRoutes = std::set<iocx_ca_local_route, KeyLess>;

// Nothing: it is one of IPv6.
std::optional<iocx_ca_address> ca_address(const InetAddress& address);
InetAddress inet_address(const iocx_ca_address& address);
inline bool is_loopback(const iocx_ca_address& address) {
  return address.bytes[0] == 127;
}
// "10.0.0.7"
std::string ca_address_text(const iocx_ca_address& address);

// A connection as the tap calls it, taken as a server's end: the local side is the server. Nothing:
// it is one of IPv6.
std::optional<iocx_ca_flow_key> ca_flow_key(const InetSocket& socket);

// The connection with its ends exchanged: the server is at the other end.
iocx_ca_flow_key as_client(const iocx_ca_flow_key& key);

// Addresses that are local to the network namespace which `netlink` (NETLINK_ROUTE) is in: those of
// its devices, and the local routes of the routing table `local`, whole ranges and addresses that
// no device has.
Result<LocalRoutes> read_local_routes(Netlink& netlink);
// Whether the route holds for the address.
bool is_on_route(const iocx_ca_local_route& route, const iocx_ca_address& address);

}  // namespace ioc_exporter::puts
