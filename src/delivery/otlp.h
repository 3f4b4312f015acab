// OpenTelemetry's protocol over HTTP (protobuf): what traces and logs have in common there, and how
// a request is made and answered.
//
// Field numbers are those of opentelemetry-proto 1.x (common/v1, resource/v1, collector/*/v1),
// which are stable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/byte_buffer.h"
#include "delivery/receiver.h"
#include "exposition/protobuf_buffer.h"

namespace ioc_exporter::delivery::otlp {

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
void add_attribute(Writer& to, int field, std::string_view name, std::span<const Scalar> values);
// An AnyValue in this field.
void add_value(Writer& to, int field, const Scalar& value);
// The same of a text that is printable UTF-8 already, as it is.
void add_words(Writer& to, int field, std::string_view words);

// The sender of a request.
struct Sender {
  std::string host, version;
  // Of this host.
  static Sender of_this_host(const std::string& version);
};

// The IOC that it is about. Resource spans, or resource logs, have a resource in field 1.
struct Service {
  std::string ioc;  // "" = its name is not known
  std::optional<std::int32_t> pid = {};
};
void add_resource(Writer& to, const Service& service, const Sender& sender);
// Scope spans, or scope logs, have it in field 1.
void add_scope(Writer& to, const Sender& sender);

// Of an IOC without a name, as OpenTelemetry has it.
inline constexpr const char* kUnknownService = "unknown_service";

// Size at which a request is full, in bytes.
inline constexpr std::size_t kLargestBody = 512u << 10;

// `path`: of the API, such as /v1/logs, which may stand in the receiver's URL. `what`: it carries
// `entries` of: "traces". `records`: what the receiver counts when it refuses some of a request
// that it takes: "spans".
struct Request {
  const HttpReceiver& receiver;
  std::string path, what, records;
  const ByteBuffer& body;
  std::size_t entries = 0;
};
Delivered send(const Request& request);

}  // namespace ioc_exporter::delivery::otlp
