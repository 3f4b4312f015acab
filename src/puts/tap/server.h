// A server of Channel Access or PV Access as the tap's maps and its callers name it.
#pragma once

#include <cstdint>

#include "puts/tap/connections.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

// For a port on which an IOC is expected that is not known yet: the channels of its first clients
// are kept, and belong to the IOC that turns out to listen on that port.
inline constexpr std::uint32_t kCaIocToCome = IOCX_CA_IOC_TO_COME;
// For a server on another host that has no number yet: as kCaIocToCome.
inline constexpr std::uint32_t kCaRemote = IOCX_CA_IOC_REMOTE;

// Added to the number of an IOC, and to kCaIocToCome: the server speaks PV Access. Its puts and
// circuits stand apart from those of the IOC's CA server, under that number.
inline constexpr std::uint32_t kPvaServer = IOCX_CA_IOC_PVA;

inline bool is_pva(std::uint32_t ioc) {
  return iocx_ca_is_pva(ioc) != 0;
}
inline bool is_ioc_number(std::uint32_t ioc) {
  return ioc != kCaIocToCome && ioc != kCaRemote && ioc != (kCaIocToCome | kPvaServer);
}

// A listening socket. An address of zeros is the wildcard.
struct CaServer {
  iocx_ca_address address{};
  std::uint16_t port = 0;
  // The caller's number, or one of the above; not to be given to another IOC before forget().
  std::uint32_t ioc = kCaIocToCome;
  // The server is elsewhere and the clients are here (CaTapOptions.remote_servers).
  bool remote = false;
};

// Of a circuit at a server for PV Access: the server has been seen to speak it.
bool speaks_pva(const iocx_ca_flow& flow);

iocx_ca_server ca_server_key(const CaServer& server);
CaServer ca_server_of(const iocx_ca_server& key, std::uint32_t ioc);

}  // namespace ioc_exporter::ca
