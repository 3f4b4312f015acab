// libFuzzer target for the parser of Channel Access over UDP that runs in the kernel.
//
// Input: a byte of flags (bit 0: the datagram goes to a watched port; bit 1: it comes from one),
// then its payload. What must hold for any bytes:
//  - nothing outside the payload or the parser's own memory is read (AddressSanitizer);
//  - searches with their names, answers and beacons are those that a plain walk over the messages
//    finds, and it says so where the datagram cannot be read on.
#include <algorithm>
#include <optional>

#include "fuzz.h"
#include "support/ca_datagram.h"

namespace {

using fuzz::Bytes;
using fuzz::word;
using ioc_exporter::puts::CaUdpMessage;
using ioc_exporter::puts::CaUdpPorts;

constexpr std::uint32_t kVersion = 0, kSearch = 6, kBeacon = 13, kNotFound = 14;
constexpr std::uint32_t kRepeaterConfirm = 17, kEcho = 23, kRepeaterRegister = 24;

struct Message {
  std::uint32_t command, type, count, parameter1, parameter2;
  std::uint64_t length;  // with its header
  Bytes payload;
};

std::optional<Message> first_message(Bytes bytes) {
  if (bytes.size() < 16) return std::nullopt;
  Message message{word(bytes, 0) >> 16,
                  word(bytes, 4) >> 16,
                  word(bytes, 4) & 0xFFFF,
                  word(bytes, 8),
                  word(bytes, 12),
                  16,
                  {}};
  std::uint64_t size = word(bytes, 0) & 0xFFFF;
  if (size == 0xFFFF) {  // whatever the count, as rsrv
    if (bytes.size() < 24) return std::nullopt;
    size = word(bytes, 16);
    message.count = word(bytes, 20);
    message.length = 24;
  }
  const std::uint64_t header = message.length;
  message.length += size;
  if (message.length > bytes.size() || message.length % 8 != 0) return std::nullopt;
  message.payload = bytes.subspan(header, size);
  return message;
}

CaUdpMessage search(const Message& message) {
  CaUdpMessage search{IOCX_CA_UDP_SEARCH, message.parameter1, 0, 0, "", false};
  const auto end = std::find(message.payload.begin(), message.payload.end(), 0);
  search.name.assign(message.payload.begin(), end);
  search.cut = search.name.size() >= IOCX_CA_SEARCHED_NAME;
  search.name.resize(std::min<std::size_t>(search.name.size(), IOCX_CA_SEARCHED_NAME - 1));
  return search;
}

// The message's meaning; none: it has none for us. False: there is no such message.
bool read(const Message& message, CaUdpPorts ports, std::optional<CaUdpMessage>& said) {
  switch (message.command) {
    case kSearch:
      if (message.count != 0) {
        if (ports.to_watched && message.payload.size() >= 2) said = search(message);
      } else if (ports.from_watched && message.payload.size() <= 8 && message.type != 0) {
        said = CaUdpMessage{
            IOCX_CA_UDP_ANSWER, message.parameter2, message.type, message.parameter1, "", false};
      }
      return true;
    case kBeacon:
      if (ports.to_watched && message.count != 0)
        said = CaUdpMessage{
            IOCX_CA_UDP_BEACON, message.parameter1, message.count, message.parameter2, "", false};
      return true;
    case kVersion:
    case kNotFound:
    case kRepeaterConfirm:
    case kEcho:
    case kRepeaterRegister:
      return true;
    default:
      return false;
  }
}

std::vector<CaUdpMessage> walk(Bytes bytes, CaUdpPorts ports) {
  std::vector<CaUdpMessage> all;
  while (!bytes.empty()) {
    const auto message = first_message(bytes);
    std::optional<CaUdpMessage> said;
    if (!message || !read(*message, ports, said)) {
      all.push_back({IOCX_CA_UDP_BAD, 0, 0, 0, "", false});
      return all;
    }
    if (said) all.push_back(*said);
    bytes = bytes.subspan(message->length);
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const CaUdpPorts ports{(data[0] & 1) != 0, (data[0] & 2) != 0};
  const auto payload = fuzz::copy_of({data + 1, size - 1});
  const Bytes bytes(payload.get(), size - 1);
  fuzz::check(read_datagram(bytes, ports) == walk(bytes, ports),
              "other messages than a walk over the datagram finds");
  return 0;
}
