// User-space side of the shared parser of Channel Access over UDP (bpf/shared/ca_udp_parser.h): the
// very code that reads datagrams in the kernel, fed with the payload of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/ca_udp_parser.h"

namespace ioc_exporter::ca {

// A search, an answer or a beacon; what the fields hold is said at enum iocx_ca_udp_kind.
struct CaUdpMessage {
  std::uint32_t kind = IOCX_CA_UDP_NOTHING;
  std::uint32_t id = 0;
  std::uint32_t port = 0;
  std::uint32_t address = 0;  // 0x7F000001 is 127.0.0.1
  std::string name;           // of a search, as far as it is kept
  bool cut = false;           // the name is longer
  bool operator==(const CaUdpMessage&) const = default;
};

// Whether the datagram's ports are watched: searches and beacons go to such a port, answers come
// from one.
struct CaUdpPorts {
  bool to_watched = false;
  bool from_watched = false;
};

// Messages of the datagram, in order; the last has kind IOCX_CA_UDP_BAD where the rest cannot be
// read. Never reads outside the payload, whatever its bytes are.
std::vector<CaUdpMessage> read_datagram(std::span<const std::uint8_t> payload, CaUdpPorts ports);

}  // namespace ioc_exporter::ca
