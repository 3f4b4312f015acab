// OpenTelemetry's protocol over HTTP (protobuf): values and resources, and how a request is made
// and answered.
//
// Field numbers are those of opentelemetry-proto 1.x (common/v1, resource/v1, collector/trace/v1),
// which are stable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/byte_buffer.h"
#include "delivery/receiver.h"
#include "exposition/protobuf_buffer.h"

namespace ioc_exporter::traces::otlp {

using Writer = exposition::ProtobufWriter;

// A message in the field of another one. It must end before that one is written to.
inline Writer begin(Writer& in, int field) {
  return {in, static_cast<protozero::pbf_tag_type>(field)};
}
// As UTF-8: others refuse a whole request for one text that is none.
void add_text(Writer& to, int field, std::string_view text);
void add_number(Writer& to, int field, std::uint64_t number);  // fixed64
inline void add_time(Writer& to, int field, std::chrono::sys_time<std::chrono::nanoseconds> time) {
  add_number(to, field, static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

using Scalar = std::variant<std::string, std::int64_t, double, bool>;
// A KeyValue in this field.
void add_attribute(Writer& to, int field, std::string_view name, const Scalar& value);

// The sender of a request.
struct Sender {
  std::string host, version;
  // Of this host.
  static Sender of_this_host(const std::string& version);
};

// An IOC's name, "" = it is not known, and its pid. Resource spans have a resource in field 1.
using Process = std::pair<std::string, std::int32_t>;
void add_resource(Writer& to, const Process& process, const Sender& sender);
// Scope spans have it in field 1.
void add_scope(Writer& to, const Sender& sender);

// Of an IOC without a name, as OpenTelemetry has it.
inline constexpr const char* kUnknownService = "unknown_service";

// Size at which a request is full, in bytes.
inline constexpr std::size_t kLargestBody = 512u << 10;

// A request of `traces` traces.
delivery::Delivered send(const delivery::HttpReceiver& receiver, const ByteBuffer& body,
                         std::size_t traces);

}  // namespace ioc_exporter::traces::otlp
