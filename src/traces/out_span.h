// A span for receivers, in any format: its name, its peer, its attributes.
// docs/traces.md has the attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "traces/trace.h"

namespace ioc_exporter::traces {

// Names of spans.
enum class SpanNames {
  record,  // the record or the PV
  type,    // few names: the record's type, the operation of a put
};
std::string name_of(const Trace& trace, const Span& span, SpanNames names);

// 0: it has none.
SpanId parent_of(const Trace& trace, const Span& span);

// The client of a put. Addresses are in figures.
struct Peer {
  std::string address;
  std::uint16_t port = 0;
};
std::optional<Peer> peer_of(const Trace& trace, const Span& span);

struct Attribute {
  std::string_view name;
  std::variant<std::string, std::int64_t, bool> value;
};
// Of the first span also the attributes of the whole trace.
std::vector<Attribute> attributes_of(const Trace& trace, const Span& span);

// That the record could not do its work, as its alarm says it: "INVALID READ"; "": it could.
std::string failure_of(const Span& span);

}  // namespace ioc_exporter::traces
