// libFuzzer target for the Channel Access parser that the tap runs in the kernel.
//
// Input: a byte of flags (bit 0: bytes to the client; bit 1: joined on its way), a byte that seeds
// the cutting into segments, then one direction of a circuit. What must hold for any bytes:
//  - nothing outside the segments or the parser's own memory is read (AddressSanitizer);
//  - however the stream is cut, the events are the same;
//  - the puts are those that a walk over the stream finds: none is missing, none is twice.
#include <set>

#include "fuzz.h"
#include "support/ca_stream.h"

namespace {

using fuzz::check;
using fuzz::read_in_pieces;
using fuzz::word;
using ioc_exporter::puts::CaDirection;
using ioc_exporter::puts::CaEvent;
using ioc_exporter::puts::CaStream;
using Stream = fuzz::Bytes;

struct Put {
  std::uint32_t sid;
  bool notify;
  bool operator==(const Put&) const = default;
};

// The puts of a client's stream that the server carries out.
std::vector<Put> walk(Stream bytes) {
  const std::set<std::uint32_t> handled{0, 1, 2, 3, 4, 6, 8, 9, 10, 12, 15, 18, 19, 20, 21, 23};
  std::vector<Put> puts;
  while (bytes.size() >= 16) {
    const std::uint32_t command = word(bytes, 0) >> 16;
    std::uint64_t length = (word(bytes, 0) & 0xFFFF) + 16;
    if (length == 0xFFFF + 16) {
      if (bytes.size() < 24) break;
      length = std::uint64_t{word(bytes, 16)} + 24;
    }
    if (length % 8 != 0 || !handled.contains(command) || length > bytes.size()) break;
    if (command == 4 || command == 19) puts.push_back({word(bytes, 8), command == 19});
    bytes = bytes.subspan(length);
  }
  return puts;
}

std::vector<Put> puts_of(const std::vector<CaEvent>& events) {
  std::vector<Put> puts;
  for (const CaEvent& event : events)
    if (event.kind == IOCX_CA_PUT) puts.push_back({event.id, event.notify});
  return puts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const CaDirection direction = data[0] & 1 ? CaDirection::to_client : CaDirection::to_server;
  const Stream bytes(data + 2, size - 2);
  if (data[0] & 2) {
    const auto events = read_in_pieces(CaStream::joined(direction), bytes, data[1]);
    check(puts_of(events).size() <= bytes.size() / 8, "more puts than there is room for");
    return 0;
  }
  const auto whole = read_in_pieces(CaStream::from_start(direction), bytes, 0);
  const auto pieces = read_in_pieces(CaStream::from_start(direction), bytes, data[1] + 1u);
  check(whole == pieces, "other events when the stream is cut");
  const auto puts = puts_of(whole);
  if (direction == CaDirection::to_client) {
    check(puts.empty(), "puts of a server");
    return 0;
  }
  check(puts == walk(bytes), "other puts than a walk over the stream finds");
  return 0;
}
