// libFuzzer target for the Channel Access parser that the tap runs in the kernel.
//
// Input: a byte of flags (bit 0: bytes to the client; bit 1: joined on its way), a byte that seeds
// the cutting into segments, then one direction of a circuit. What must hold for any bytes:
//  - nothing outside the segments or the parser's own memory is read (AddressSanitizer);
//  - however the stream is cut, the events are the same;
//  - the puts are those that a model of rsrv carries out: none is missing, none is twice. Where the
//    circuit begins as Base's versions all take it, they are those of each version's own model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "support/ca_stream.h"

namespace {

using ioc_exporter::ca::CaDirection;
using ioc_exporter::ca::CaEvent;
using ioc_exporter::ca::CaStream;
using Stream = std::span<const std::uint8_t>;

struct Put {
  std::uint32_t sid;
  bool notify;
  bool operator==(const Put&) const = default;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "ca_stream_fuzz: %s\n", what);
  std::abort();
}

// A segment in memory of its own size, so that a read behind it is seen.
std::vector<CaEvent> feed(CaStream& stream, Stream segment) {
  const auto copy = std::make_unique<std::uint8_t[]>(segment.size());
  std::copy(segment.begin(), segment.end(), copy.get());
  return stream.feed({copy.get(), segment.size()});
}

std::vector<CaEvent> read_in_pieces(CaStream stream, Stream bytes, std::uint32_t seed) {
  const auto parser = std::make_unique<CaStream>(std::move(stream));
  std::vector<CaEvent> events;
  while (!bytes.empty()) {
    std::size_t size = bytes.size();
    if (seed != 0) {
      seed = seed * 1664525u + 1013904223u;
      // Many short ones: cuts inside of headers and names are where mistakes are.
      const std::size_t longest = seed >> 30 == 0 ? 3000 : 40;
      size = std::min<std::size_t>(size, 1 + (seed >> 8) % longest);
    }
    for (CaEvent& event : feed(*parser, bytes.first(size))) events.push_back(std::move(event));
    bytes = bytes.subspan(size);
  }
  return events;
}

std::uint32_t word(Stream bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

// camessage() of rsrv, which is the same in 3.14.12 and 3.15.
enum class Rsrv {
  base_3,  // CREATE_CHAN alone tells the minor version
  base_7,  // VERSION does too; before it is told, no other message is handled
  tap,     // the puts that any of them may carry out
};

// The puts of a client's stream that the server carries out. Nothing: it depends on how the stream
// was cut.
std::optional<std::vector<Put>> walk(Stream bytes, Rsrv rsrv) {
  const std::set<std::uint32_t> handled{0, 1, 2, 3, 4, 6, 8, 9, 10, 12, 15, 18, 19, 20, 21, 23};
  std::vector<Put> puts;
  std::uint32_t minor = 0;
  bool is_first = true;
  while (bytes.size() >= 16) {
    const std::uint32_t command = word(bytes, 0) >> 16;
    std::uint32_t size = word(bytes, 0) & 0xFFFF, length = size + 16;
    if (size == 0xFFFF && minor >= 9) {
      if (bytes.size() < 24) break;
      size = word(bytes, 16);
      length = size + 24;  // in 32 bits
    }
    if (length == 0) break;  // it is handled for ever
    // Long headers before there is a channel: 7.0 takes them, earlier ones do not.
    if (rsrv == Rsrv::base_3 && minor == 0 && size == 0xFFFF) return std::nullopt;
    // Of a client that takes its version back, 7.0 skips as many bytes as were read with the
    // message.
    if (rsrv == Rsrv::base_7 && minor < 4 && !is_first) return std::nullopt;
    const bool checks = rsrv != Rsrv::tap || minor >= 4;
    if (checks && (length % 8 != 0 || !handled.contains(command))) break;
    if (length > bytes.size()) break;
    if (command == 4 || command == 19) puts.push_back({word(bytes, 8), command == 19});
    const std::uint32_t told = word(bytes, 4) & 0xFFFF;
    // 7.0 goes by that from then on, earlier ones do not.
    if (command == 0 && rsrv == Rsrv::base_3 && !is_first &&
        (told < 9 || (minor != 0 && minor < 9)))
      return std::nullopt;
    if (command == 18 && rsrv == Rsrv::base_3 && word(bytes, 12) < 4) return std::nullopt;
    if (command == 0 && rsrv != Rsrv::base_3) minor = told;
    if (command == 18) minor = word(bytes, 12);
    bytes = bytes.subspan(length);
    is_first = false;
  }
  return puts;
}

// Whether the first message is a VERSION without payload, and then whether all versions of Base
// know the client's minor version from the second on, since that creates a channel.
bool begins_with_version(Stream bytes) {
  return bytes.size() >= 16 && word(bytes, 0) == 0 && (word(bytes, 4) & 0xFFFF) >= 9;
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
    if (puts_of(events).size() > bytes.size() / 8) fail("more puts than there is room for");
    return 0;
  }
  const auto whole = read_in_pieces(CaStream::from_start(direction), bytes, 0);
  const auto pieces = read_in_pieces(CaStream::from_start(direction), bytes, data[1] + 1u);
  if (whole != pieces) fail("other events when the stream is cut");
  const auto puts = puts_of(whole);
  if (direction == CaDirection::to_client) {
    if (!puts.empty()) fail("puts of a server");
    return 0;
  }
  if (puts != walk(bytes, Rsrv::tap)) fail("other puts than a walk over the stream finds");
  if (!begins_with_version(bytes)) return 0;
  if (const auto those = walk(bytes, Rsrv::base_7); those && puts != *those)
    fail("other puts than Base 7.0 carries out");
  if (const auto those = walk(bytes, Rsrv::base_3); those && puts != *those)
    fail("other puts than Base 3.14.12 and 3.15 carry out");
  return 0;
}
