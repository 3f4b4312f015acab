// The Channel Access parser that the tap runs in the kernel (bpf/shared/ca_parser.h), fed in user
// space with the bytes of one direction of a circuit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shared/ca_resync.h"

namespace ioc_exporter::puts {

enum class CaDirection : std::uint32_t {
  to_server = IOCX_CA_TO_SERVER,
  to_client = IOCX_CA_TO_CLIENT
};

struct CaEvent {
  // enum iocx_ca_event_kind, which says what `id` and `other` are
  std::uint32_t kind = IOCX_CA_NOTHING;
  std::uint32_t id = 0;
  std::uint32_t other = 0;
  bool notify = false;
  std::string text;          // PV, user or host as far as it is kept
  std::uint32_t failed = 0;  // of IOCX_CA_ERROR: the request's command, and its IOID
  std::uint32_t ioid = 0;
  bool operator==(const CaEvent&) const = default;
};

// One direction of a circuit. Never reads outside what it is given, whatever the bytes are.
class CaStream {
 public:
  // From the circuit's first byte on, or joined somewhere on its way.
  static CaStream from_start(CaDirection direction) {
    CaStream stream(direction);
    iocx_ca_start(&stream.stream_);
    return stream;
  }
  static CaStream joined(CaDirection direction) { return CaStream(direction); }

  // Whether the circuit has a channel: asked with one of enum iocx_ca_names (NAMES_SID, NAMES_CID)
  // and the id while boundaries are found again. Without it, the circuit's channels are not known.
  using HasChannel = std::function<bool(std::uint32_t names, std::uint32_t id)>;
  void set_channels(HasChannel has) { has_channel_ = std::move(has); }

  // The next segment's events, in order.
  std::vector<CaEvent> feed(std::span<const std::uint8_t> segment);
  // So many bytes are missing before the next segment.
  std::vector<CaEvent> gap(std::uint32_t missing) {
    iocx_ca_event event{};
    iocx_ca_gap(&stream_, &event, missing);
    if (event.kind == IOCX_CA_NOTHING) return {};
    return {convert(event)};
  }

  // The client was silent for a while.
  void silence() { iocx_ca_regain_by_silence(&stream_); }

  bool is_lost() const { return stream_.sync < IOCX_CA_REGAINED; }

 private:
  explicit CaStream(CaDirection direction) : direction_(direction) {}
  void fill(std::span<const std::uint8_t> segment);
  int seek(std::span<const std::uint8_t> segment);
  std::uint32_t trust(std::uint32_t names, std::uint32_t id) const;
  CaEvent convert(const iocx_ca_event& event) const;

  CaDirection direction_;
  HasChannel has_channel_;
  iocx_ca_stream stream_{};
  iocx_ca_window window_{};
};

inline std::vector<CaEvent> CaStream::feed(std::span<const std::uint8_t> segment) {
  std::vector<CaEvent> events;
  if (segment.empty()) return events;
  iocx_ca_begin(&stream_, &window_, static_cast<std::uint32_t>(direction_),
                static_cast<std::uint32_t>(segment.size()));
  for (;;) {
    iocx_ca_event event{};
    if (iocx_ca_is_out_of_sync(&stream_)) {
      if (seek(segment) == IOCX_CA_SEEK_END) return events;
      continue;
    }
    if (iocx_ca_wants_bytes(&stream_, &window_)) fill(segment);
    const int result = stream_.sync == IOCX_CA_UNPROVED ? iocx_ca_doubt(&stream_, &window_, &event)
                                                        : iocx_ca_step(&stream_, &window_, &event);
    if (result == IOCX_CA_DONE) return events;
    if (event.kind == IOCX_CA_DOUBTED) {
      if (iocx_ca_judge(&stream_, &event, trust(event.size, event.id))) iocx_ca_regain(&stream_);
      continue;
    }
    if (event.kind == IOCX_CA_PUT && stream_.sync == IOCX_CA_REGAINED && has_channel_ &&
        !has_channel_(IOCX_CA_NAMES_SID, event.id))
      stream_.sync = IOCX_CA_LOST;
    else if (event.kind != IOCX_CA_NOTHING)
      events.push_back(convert(event));
  }
}

// The same as ca_seek() of bpf/tap/tap_resync.bpf.h. The stream begins with the first segment, as
// far as is known here: messages start on multiples of 8 from there on.
inline int CaStream::seek(std::span<const std::uint8_t> segment) {
  iocx_ca_seek_begin(&window_, 0, 8);
  for (;;) {
    const std::uint32_t size = iocx_ca_seek_wants(&window_);
    std::uint32_t confidence = IOCX_CA_REFUSED;
    if (size != 0) {
      std::memcpy(window_.seek.bytes, segment.data() + (window_.seek.at - window_.carried), size);
      if (iocx_ca_seek_header(&window_, size))
        confidence =
            trust(iocx_ca_names(window_.direction, &window_.header), window_.header.parameter1);
    }
    const int result = iocx_ca_seek(&stream_, &window_, confidence, has_channel_ != nullptr);
    if (result != IOCX_CA_SEEK_ON) return result;
  }
}

inline std::uint32_t CaStream::trust(std::uint32_t names, std::uint32_t id) const {
  if (names == IOCX_CA_NAMES_NONE) return IOCX_CA_NAMELESS;
  if (names == IOCX_CA_NAMES_NEW || !has_channel_) return IOCX_CA_TRUSTED;
  return has_channel_(names, id) ? IOCX_CA_TRUSTED : IOCX_CA_REFUSED;
}

// The same as fill() of bpf/tap/tap_messages.bpf.h.
inline void CaStream::fill(std::span<const std::uint8_t> segment) {
  std::uint32_t lead = 0, from = 0;
  if (window_.pos == 0 && window_.carried != 0) {
    std::memcpy(window_.bytes, stream_.carry, sizeof stream_.carry);
    lead = window_.carried;
    stream_.have = 0;
  } else {
    from = window_.pos - window_.carried;
  }
  const std::size_t size = std::min<std::size_t>(segment.size() - from, IOCX_CA_FILL);
  std::memcpy(window_.bytes + lead, segment.data() + from, size);
  window_.base = window_.pos;
}

inline CaEvent CaStream::convert(const iocx_ca_event& event) const {
  CaEvent converted{event.kind, event.id, event.other, false, {}};
  if (event.kind == IOCX_CA_PUT) converted.notify = event.notify != 0;
  if (event.kind == IOCX_CA_ERROR) {
    iocx_ca_event request = event;
    iocx_ca_read_error(&request, window_.bytes + event.at);
    converted.id = request.id;
    converted.failed = request.failed;
    converted.ioid = request.ioid;
  }
  if (event.kind == IOCX_CA_CREATE || event.kind == IOCX_CA_USER || event.kind == IOCX_CA_HOST) {
    const auto* text = reinterpret_cast<const char*>(window_.bytes + event.at);
    converted.text.assign(text, std::find(text, text + event.size, '\0'));
  }
  return converted;
}

}  // namespace ioc_exporter::puts
