// The PV Access parser (bpf/shared/pva_parser.h), fed in user space with the bytes of one direction
// of a circuit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "shared/pva_identity.h"
#include "shared/pva_resync.h"

namespace ioc_exporter::puts {

enum class PvaDirection : std::uint32_t {
  to_server = IOCX_CA_TO_SERVER,
  to_client = IOCX_CA_TO_CLIENT
};

struct PvaEvent {
  // enum iocx_pva_event_kind, which says what the others are; 0 or "" where it says nothing
  std::uint32_t kind = IOCX_PVA_NOTHING;
  std::uint32_t id = 0;
  std::uint32_t other = 0;
  std::uint32_t command = 0;
  std::uint32_t sub = 0;
  bool ok = true;         // of an answer
  std::string text = {};  // PV, as far as it is kept; message of an answer that is not ok; method
  std::string user = {};
  std::string host = {};
  bool operator==(const PvaEvent&) const = default;
};

// One direction of a circuit. Never reads outside what it is given, whatever the bytes are.
class PvaStream {
 public:
  // From the circuit's first byte on, or joined somewhere on its way.
  static PvaStream from_start(PvaDirection direction) {
    PvaStream stream(direction);
    iocx_pva_start(&stream.stream_);
    return stream;
  }
  static PvaStream joined(PvaDirection direction) { return PvaStream(direction); }

  // The next segment's events, in order.
  std::vector<PvaEvent> feed(std::span<const std::uint8_t> segment);
  // So many bytes are missing before the next segment.
  std::vector<PvaEvent> gap(std::uint32_t missing) {
    iocx_pva_event event{};
    iocx_pva_gap(&stream_, &event, missing);
    if (event.kind == IOCX_PVA_NOTHING) return {};
    return {convert(event)};
  }

  bool is_lost() const { return stream_.stream.sync < IOCX_CA_REGAINED; }

 private:
  explicit PvaStream(PvaDirection direction) : direction_(direction) {}
  void fill(std::span<const std::uint8_t> segment);
  int seek(std::span<const std::uint8_t> segment);
  int prove();
  PvaEvent convert(const iocx_pva_event& event) const;

  PvaDirection direction_;
  iocx_pva_stream stream_{};
  iocx_ca_window window_{};
};

inline std::vector<PvaEvent> PvaStream::feed(std::span<const std::uint8_t> segment) {
  std::vector<PvaEvent> events;
  if (segment.empty()) return events;
  iocx_ca_begin(&stream_.stream, &window_, static_cast<std::uint32_t>(direction_),
                static_cast<std::uint32_t>(segment.size()));
  for (;;) {
    iocx_pva_event event{};
    if (iocx_ca_is_out_of_sync(&stream_.stream)) {
      if (seek(segment) == IOCX_CA_SEEK_END) return events;
      continue;
    }
    if (iocx_ca_wants_bytes(&stream_.stream, &window_)) fill(segment);
    const int result = stream_.stream.sync == IOCX_CA_UNPROVED
                           ? prove()
                           : iocx_pva_step(&stream_, &window_, &event);
    if (result == IOCX_CA_DONE) return events;
    if (event.kind != IOCX_PVA_NOTHING) events.push_back(convert(event));
  }
}

inline int PvaStream::seek(std::span<const std::uint8_t> segment) {
  iocx_pva_seek_begin(&stream_, &window_);
  for (;;) {
    const std::uint32_t size = iocx_pva_seek_wants(&window_);
    if (size != 0)
      std::memcpy(window_.seek.bytes, segment.data() + (window_.seek.at - window_.carried), size);
    const int result = iocx_pva_seek(&stream_, &window_, size);
    if (result != IOCX_CA_SEEK_ON) return result;
  }
}

// As if the circuit had each channel, and no request were answered.
inline int PvaStream::prove() {
  iocx_ca_event event{};
  const int result = iocx_pva_doubt(&stream_, &window_, &event);
  if (event.kind == IOCX_CA_DOUBTED &&
      iocx_ca_judge(&stream_.stream, &event,
                    event.size == IOCX_CA_NAMES_NONE ? IOCX_CA_NAMELESS : IOCX_CA_TRUSTED))
    iocx_ca_regain(&stream_.stream);
  return result;
}

// The same as fill() of bpf/tap/tap_messages.bpf.h.
inline void PvaStream::fill(std::span<const std::uint8_t> segment) {
  std::uint32_t lead = 0, from = 0;
  if (window_.pos == 0 && window_.carried != 0) {
    std::memcpy(window_.bytes, stream_.stream.carry, sizeof stream_.stream.carry);
    lead = window_.carried;
    stream_.stream.have = 0;
  } else {
    from = window_.pos - window_.carried;
  }
  const std::size_t size = std::min<std::size_t>(segment.size() - from, IOCX_CA_FILL);
  std::memcpy(window_.bytes + lead, segment.data() + from, size);
  window_.base = window_.pos;
}

inline PvaEvent PvaStream::convert(const iocx_pva_event& event) const {
  const auto text = [&](const std::uint8_t* from, std::uint32_t size) {
    return std::string(reinterpret_cast<const char*>(from), size);
  };
  const std::uint8_t* const at = window_.bytes + event.at;
  PvaEvent converted{event.kind, event.id, event.other, event.command, event.sub};
  if (event.kind == IOCX_PVA_CREATE) converted.text = text(at, event.size);
  if (event.kind == IOCX_PVA_VALIDATED || event.kind == IOCX_PVA_CREATED ||
      event.kind == IOCX_PVA_INITED || event.kind == IOCX_PVA_ANSWER)
    converted.ok = iocx_pva_is_ok(event.status) != 0;
  if (!converted.ok && event.size > 1) {
    const std::uint32_t head = 1 + iocx_pva_size_bytes(at[1]);
    const std::uint32_t size = head == 2 ? at[1] : event.size;
    if (event.size > head) converted.text = text(at + head, std::min(size, event.size - head));
  }
  if (event.kind == IOCX_PVA_IDENTIFY) {
    iocx_pva_identity identity;
    iocx_pva_read_identity(at, event.size, event.size == event.length, &identity);
    converted.ok = !identity.refused;
    converted.text = text(at + identity.method.at, identity.method.size);
    converted.user = text(at + identity.user.at, identity.user.size);
    converted.host = text(at + identity.host.at, identity.host.size);
  }
  return converted;
}

}  // namespace ioc_exporter::puts
