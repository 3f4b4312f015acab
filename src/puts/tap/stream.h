// User-space side of the shared Channel Access parser: the very code that the tap runs in the
// kernel (bpf/shared/ca_parser.h), fed with the bytes of one direction of a circuit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shared/ca_resync.h"

namespace ioc_exporter::ca {

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
  static CaStream from_start(CaDirection direction);
  static CaStream joined(CaDirection direction);

  // Whether the circuit has a channel: asked with one of enum iocx_ca_names (NAMES_SID, NAMES_CID)
  // and the id while boundaries are found again. Without it, the circuit's channels are not known.
  using HasChannel = std::function<bool(std::uint32_t names, std::uint32_t id)>;
  void set_channels(HasChannel has) { has_channel_ = std::move(has); }

  // The next segment's events, in order.
  std::vector<CaEvent> feed(std::span<const std::uint8_t> segment);
  // So many bytes are missing before the next segment.
  std::vector<CaEvent> gap(std::uint32_t missing);

  bool is_lost() const { return stream_.sync < IOCX_CA_REGAINED; }

 private:
  explicit CaStream(CaDirection direction) : direction_(direction) {}
  void fill(std::span<const std::uint8_t> segment);
  int seek(std::span<const std::uint8_t> segment);
  std::uint32_t trust() const;
  CaEvent convert(const iocx_ca_event& event) const;

  CaDirection direction_;
  HasChannel has_channel_;
  iocx_ca_stream stream_{};
  iocx_ca_window window_{};
};

}  // namespace ioc_exporter::ca
