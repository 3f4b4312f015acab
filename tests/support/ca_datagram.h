// User-space side of the shared parser of Channel Access over UDP (bpf/shared/ca_udp_parser.h): the
// very code that reads datagrams in the kernel, fed with the payload of one.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shared/ca_udp_parser.h"

namespace ioc_exporter::puts {

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

inline CaUdpMessage convert(const iocx_ca_datagram& datagram, const iocx_ca_udp_event& event) {
  CaUdpMessage message;
  message.kind = event.kind;
  if (event.kind == IOCX_CA_UDP_BAD) return message;
  message.id = event.id;
  if (event.kind != IOCX_CA_UDP_SEARCH) {
    message.port = event.port;
    message.address = event.address;
    return message;
  }
  std::array<__u64, IOCX_CA_SEARCHED_NAME / 8> words{};
  message.cut = iocx_ca_read_name(words.data(), datagram.bytes + event.at, event.size) != 0;
  std::array<char, IOCX_CA_SEARCHED_NAME> name{};
  std::memcpy(name.data(), words.data(), name.size());
  message.name = name.data();
  return message;
}

// Messages of the datagram, in order; the last has kind IOCX_CA_UDP_BAD where the rest cannot be
// read. Never reads outside the payload, whatever its bytes are.
inline std::vector<CaUdpMessage> read_datagram(std::span<const std::uint8_t> payload,
                                               CaUdpPorts ports) {
  const auto datagram = std::make_unique<iocx_ca_datagram>();
  iocx_ca_udp_begin(datagram.get(), static_cast<std::uint32_t>(payload.size()), ports.to_watched,
                    ports.from_watched);
  std::vector<CaUdpMessage> messages;
  iocx_ca_udp_event event{};
  for (;;) {
    if (iocx_ca_udp_wants_bytes(datagram.get())) {
      std::memcpy(datagram->bytes, payload.data() + datagram->pos,
                  iocx_ca_udp_wanted(datagram.get()));
      datagram->base = datagram->pos;
    }
    if (iocx_ca_udp_step(datagram.get(), &event) == IOCX_CA_DONE) return messages;
    if (event.kind != IOCX_CA_UDP_NOTHING) messages.push_back(convert(*datagram, event));
  }
}

}  // namespace ioc_exporter::puts
