#include "protocol/ca_stream.h"

#include <algorithm>
#include <cstring>

namespace ioc_exporter::protocol {

CaStream CaStream::from_start(CaDirection direction) {
  CaStream stream(direction);
  iocx_ca_start(&stream.stream_);
  return stream;
}

CaStream CaStream::joined(CaDirection direction) {
  return CaStream(direction);
}

std::vector<CaEvent> CaStream::feed(std::span<const std::uint8_t> segment) {
  std::vector<CaEvent> events;
  if (segment.empty()) return events;
  iocx_ca_begin(&stream_, &window_, static_cast<std::uint32_t>(direction_),
                static_cast<std::uint32_t>(segment.size()));
  if (stream_.sync == IOCX_CA_LOST) {
    fill(segment);
    iocx_ca_find(&stream_, &window_);
  }
  for (;;) {
    iocx_ca_event event{};
    if (iocx_ca_wants_bytes(&stream_, &window_)) fill(segment);
    if (iocx_ca_step(&stream_, &window_, &event) == IOCX_CA_DONE) return events;
    if (event.kind != IOCX_CA_NOTHING) events.push_back(convert(event));
  }
}

std::vector<CaEvent> CaStream::gap(std::uint32_t missing) {
  iocx_ca_event event{};
  iocx_ca_gap(&stream_, &event, missing);
  if (event.kind == IOCX_CA_NOTHING) return {};
  return {convert(event)};
}

// The same as fill() of bpf/ca_tap.bpf.c.
void CaStream::fill(std::span<const std::uint8_t> segment) {
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

CaEvent CaStream::convert(const iocx_ca_event& event) const {
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

}  // namespace ioc_exporter::protocol
