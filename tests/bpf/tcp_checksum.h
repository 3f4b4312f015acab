// The checksums of IP packets with TCP segments that tests make up.
#pragma once

#include <cstddef>

#include "unit/puts/bytes.h"

namespace ioc_exporter::testing {

// Of an IPv4 packet, in the header without options whose checksum is 0.
inline void complete_ip_checksum(Bytes& packet) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < 20; ++at)
    sum += at % 2 ? packet[at] : std::uint32_t{packet[at]} << 8;
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  packet.at(10) = static_cast<std::uint8_t>(~sum >> 8);
  packet.at(11) = static_cast<std::uint8_t>(~sum);
}

// Of an IP packet that ends with a TCP segment, which starts at `tcp` and has 0 as its checksum.
// The addresses stand in front of the options of IPv4.
inline void complete_tcp_checksum(Bytes& packet, std::size_t tcp) {
  const bool v4 = packet.at(0) >> 4 == 4;
  std::uint32_t sum = 6 + static_cast<std::uint32_t>(packet.size() - tcp);
  const auto add = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at)
      sum += (at - from) % 2 ? packet[at] : std::uint32_t{packet[at]} << 8;
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  };
  add(v4 ? 12 : 8, v4 ? 20 : 40);
  add(tcp, packet.size());
  packet.at(tcp + 16) = static_cast<std::uint8_t>(~sum >> 8);
  packet.at(tcp + 17) = static_cast<std::uint8_t>(~sum);
}

}  // namespace ioc_exporter::testing
