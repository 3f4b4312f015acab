#include "puts/searches/datagram.h"

#include <array>
#include <cstring>
#include <memory>

namespace ioc_exporter::ca {
namespace {

CaUdpMessage convert(const iocx_ca_datagram& datagram, const iocx_ca_udp_event& event) {
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

}  // namespace

std::vector<CaUdpMessage> read_datagram(std::span<const std::uint8_t> payload, CaUdpPorts ports) {
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

}  // namespace ioc_exporter::ca
