// A server of Channel Access or PV Access as the tap's maps and its callers name it.
#pragma once

#include <cstdint>

#include "puts/server_key.h"
#include "puts/tap/connections.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::puts {

// For a port on which an IOC is expected that is not known yet: the channels of its first clients
// are kept, and belong to the IOC that turns out to listen on that port.
inline constexpr std::uint32_t kIocToCome = IOCX_CA_IOC_TO_COME;
// For a server on another host that has no number yet: as kIocToCome.
inline constexpr std::uint32_t kRemoteServer = IOCX_CA_IOC_REMOTE;

constexpr bool is_ioc_number(std::uint32_t ioc) {
  return ioc != kIocToCome && ioc != kRemoteServer;
}

// As the kernel's maps number a server, and back.
constexpr std::uint32_t kernel_number(const ServerKey& server) {
  return server.ioc | (server.protocol == Protocol::pva ? IOCX_CA_IOC_PVA : 0);
}
inline ServerKey server_of_number(std::uint32_t number) {
  if (iocx_ca_is_pva(number) == 0) return {number, Protocol::ca};
  return {number & ~IOCX_CA_IOC_PVA, Protocol::pva};
}

// A listening socket. An address of zeros is the wildcard.
struct TapServer {
  iocx_ca_address address{};
  std::uint16_t port = 0;
  // The caller's number, or one of the above; not to be given to another IOC before forget().
  std::uint32_t ioc = kIocToCome;
  // The server is elsewhere and the clients are here (TapOptions.remote_servers).
  bool remote = false;
  Protocol protocol = Protocol::ca;
};

// Of a circuit at a server for PV Access: the server has been seen to speak it.
bool speaks_pva(const iocx_ca_flow& flow);

iocx_ca_server tap_server_key(const TapServer& server);
TapServer tap_server_of(const iocx_ca_server& key, std::uint32_t ioc);

}  // namespace ioc_exporter::puts
