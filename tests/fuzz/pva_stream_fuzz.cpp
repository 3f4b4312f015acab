// libFuzzer target for the PV Access parser (bpf/shared/pva_parser.h).
//
// Input: a byte of flags (bit 0: bytes to the client; bit 1: joined on its way; bit 2: bytes are
// missing), a byte that seeds the cutting into segments, then one direction of a circuit. What must
// hold for any bytes:
//  - nothing outside the segments or the parser's own memory is read (AddressSanitizer);
//  - however the stream is cut, the events are the same, until the boundaries are lost;
//  - the puts are those that a walk over the stream finds: none is missing, none is twice.
#include <algorithm>
#include <optional>

#include "fuzz.h"
#include "support/pva_stream.h"

namespace {

using fuzz::check;
using fuzz::read_in_pieces;
using ioc_exporter::puts::PvaDirection;
using ioc_exporter::puts::PvaEvent;
using ioc_exporter::puts::PvaStream;
using Stream = fuzz::Bytes;

struct Put {
  std::uint32_t command, sid, ioid;
  bool operator==(const Put&) const = default;
};

// Without those behind lost boundaries, which are searched for in each segment by itself.
std::vector<PvaEvent> until_lost(std::vector<PvaEvent> events) {
  const auto lost = std::find_if(events.begin(), events.end(), [](const PvaEvent& event) {
    return event.kind == IOCX_PVA_REFUSED_ALL;
  });
  events.erase(lost, events.end());
  return events;
}

// A walk over a client's stream that finds the puts that the server reads.
class Walk {
 public:
  explicit Walk(Stream bytes) {
    while (bytes.size() >= 8 && (names_ == 0 || segmented_)) {
      const std::uint32_t size = bytes[2] & 0x80 ? big(bytes, 4) : little(bytes, 4);
      if (bytes[0] != 0xCA || bytes[1] == 0) return;
      if (bytes[2] & 1) {
        bytes = bytes.subspan(8);
        continue;
      }
      if (segmented_ && !(bytes[2] & 0x20)) {  // pvAccessCPP has read the first segment
        end();
        names_ = 0;
      }
      if (bytes.size() - 8 < size) return;
      if (!segment(bytes[2], bytes[3], bytes.subspan(8, size))) return;
      bytes = bytes.subspan(8 + std::size_t{size});
    }
  }
  const std::vector<Put>& puts() const { return puts_; }

 private:
  static std::uint32_t big(Stream bytes, std::size_t at) { return fuzz::word(bytes, at); }
  static std::uint32_t little(Stream bytes, std::size_t at) {
    return __builtin_bswap32(big(bytes, at));
  }
  std::uint32_t word(Stream bytes, std::size_t at) const {
    return is_big_ ? big(bytes, at) : little(bytes, at);
  }

  // False: the server closes the circuit.
  bool segment(std::uint32_t flags, std::uint32_t command, Stream payload) {
    const bool continued = flags & 0x20;
    if (continued && !segmented_) return payload.empty();
    segmented_ = flags & 0x10;
    command_ = command;
    if (!continued && !start(flags, payload)) return false;
    if (names_ != 0 && !names(continued ? payload : payload.subspan(2))) return false;
    if (!segmented_) end();
    return true;
  }
  void end() {
    if (put_) puts_.push_back(*put_);
    put_.reset();
    segmented_ = false;
  }

  bool start(std::uint32_t flags, Stream payload) {
    const bool request = (command_ >= 10 && command_ <= 14) || command_ == 16 || command_ == 20;
    const std::size_t shortest = request || command_ == 1          ? 9
                                 : command_ == 8 || command_ == 15 ? 8
                                 : command_ == 7                   ? 2
                                                                   : 0;
    if (payload.size() < shortest) return segmented_ || (request && command_ != 13);
    is_big_ = flags & 0x80;
    if (command_ == 7)
      names_ = is_big_ ? payload[0] << 8 | payload[1] : payload[1] << 8 | payload[0];
    if (!request) return true;
    const std::uint8_t not_put = command_ == 11 ? 0x48 : command_ == 12 ? 0xC8 : 0x08;
    if ((command_ == 11 || command_ == 12 || command_ == 20) && !(payload[8] & not_put))
      put_ = Put{command_, word(payload, 0), word(payload, 4)};
    return true;
  }

  bool names(Stream payload) {
    for (; names_ != 0 && !payload.empty(); --names_) {
      std::uint64_t length = payload.size() < 5 ? 1 : payload[4] == 255 ? 0 : payload[4];
      std::size_t head = 5;
      if (payload.size() >= 9 && payload[4] == 254) {
        length = word(payload, 5);
        head = 9;
      }
      if (payload.size() < head + length) {
        names_ = 0;
        return segmented_;
      }
      payload = payload.subspan(head + length);
      if (length == 0) {
        names_ = 0;
        return true;
      }
    }
    return true;
  }

  bool segmented_ = false, is_big_ = false;
  std::uint32_t command_ = 0;
  int names_ = 0;
  std::optional<Put> put_;
  std::vector<Put> puts_;
};

std::vector<Put> puts_of(const std::vector<PvaEvent>& events) {
  std::vector<Put> puts;
  for (const PvaEvent& event : events)
    if (event.kind == IOCX_PVA_PUT) puts.push_back({event.command, event.id, event.other});
  return puts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const PvaDirection direction = data[0] & 1 ? PvaDirection::to_client : PvaDirection::to_server;
  const Stream bytes(data + 2, size - 2);
  if (data[0] & 6) {
    const auto stream =
        data[0] & 2 ? PvaStream::joined(direction) : PvaStream::from_start(direction);
    const auto events = read_in_pieces(stream, bytes, data[1] + (data[0] >> 2 & 1u), data[0] & 4);
    check(puts_of(events).size() <= bytes.size() / 8, "more puts than there is room for");
    return 0;
  }
  const auto from_start = PvaStream::from_start(direction);
  const auto whole = until_lost(read_in_pieces(from_start, bytes, 0));
  const auto pieces = until_lost(read_in_pieces(from_start, bytes, data[1] + 1u));
  check(whole == pieces, "other events when the stream is cut");
  const auto puts = puts_of(whole);
  if (direction == PvaDirection::to_client) {
    check(puts.empty(), "puts of a server");
    return 0;
  }
  check(puts == Walk(bytes).puts(), "other puts than a walk over the stream finds");
  return 0;
}
