#include "traces/otlp_sink.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "exposition/label_text.h"
#include "exposition/protobuf_buffer.h"
#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

using Writer = exposition::ProtobufWriter;
using Value = decltype(Attribute::value);
using Process = std::pair<std::string, std::int32_t>;  // its IOC's name and its pid

constexpr const char* kContentType = "application/x-protobuf";

// Of the messages that are written.
namespace in_both {
constexpr int kResource = 1, kScope = 1;
}
namespace resource {
constexpr int kAttributes = 1;
}
namespace scope {
constexpr int kName = 1, kVersion = 2;
}
namespace key_value {
constexpr int kKey = 1, kValue = 2;
}
namespace any_value {
constexpr int kString = 1, kBool = 2, kInt = 3;
}
namespace request {
constexpr int kResourceSpans = 1;
}
namespace resource_spans {
constexpr int kScopeSpans = 2;
}
namespace scope_spans {
constexpr int kSpans = 2;
}
namespace span_fields {
constexpr int kTraceId = 1, kSpanId = 2, kParent = 4, kName = 5, kKind = 6, kStart = 7, kEnd = 8,
              kAttributes = 9, kStatus = 15;
constexpr int kInternal = 1, kServer = 2, kClient = 3;
}  // namespace span_fields
namespace status {
constexpr int kMessage = 2, kCode = 3, kError = 2;
}
// And of those that are read.
namespace response {
constexpr int kPartialSuccess = 1, kRejected = 1, kErrorMessage = 2;
}
namespace rpc_status {
constexpr int kMessage = 2;
}

// The answer's text or message at `field`; none: there is no such field.
std::optional<std::string_view> find(std::string_view message, int field) {
  protozero::pbf_reader reader(message.data(), message.size());
  if (!reader.next(static_cast<protozero::pbf_tag_type>(field),
                   protozero::pbf_wire_type::length_delimited))
    return std::nullopt;
  const auto view = reader.get_view();
  return std::string_view(view.data(), view.size());
}

bool is_protobuf(const Fetched& answer) {
  return answer.content_type.starts_with(kContentType);
}

// A request that was taken, but for some spans: which is not said.
void read_answer(const Fetched& answer, const std::string& where, delivery::Delivered& done) {
  if (!is_protobuf(answer)) return;
  try {
    const auto partial = find(answer.body, response::kPartialSuccess);
    if (!partial) return;
    protozero::pbf_reader reader(partial->data(), partial->size());
    if (!reader.next(response::kRejected, protozero::pbf_wire_type::varint)) return;
    const std::int64_t spans = reader.get_int64();
    if (spans <= 0) return;
    const std::string words(find(*partial, response::kErrorMessage).value_or(""));
    done.refused = static_cast<std::size_t>(
        std::min<std::uint64_t>(done.entries, static_cast<std::uint64_t>(spans)));
    done.entries -= done.refused;
    done.problem = error_in_words(where + ": " + std::to_string(spans) +
                                  " spans were refused: " + printable_utf8(words, 200));
    done.pause = std::chrono::milliseconds(0);
  } catch (const protozero::exception&) {  // it was taken all the same
  }
}

// Of a Status.
std::string words_of(const Fetched& answer) {
  if (!is_protobuf(answer)) return answer.body;
  try {
    return std::string(find(answer.body, rpc_status::kMessage).value_or(""));
  } catch (const protozero::exception&) {
    return "";
  }
}

// By the protocol another try helps with 429 and 502 to 504 only; a login or a proxy can be
// repaired, too, and so can what sends elsewhere.
bool is_refused(int status) {
  return status >= 400 && status != 401 && status != 403 && status != 408 && status != 429 &&
         !(status >= 502 && status <= 504);
}

// A message in the field of another one. It must end before that one is written to.
Writer begin(Writer& in, int field) {
  return {in, static_cast<protozero::pbf_tag_type>(field)};
}

// As UTF-8: others refuse a whole request for one text that is none.
void add_text(Writer& to, int field, std::string_view text) {
  const std::string safe = exposition::utf8_safe(text);
  to.add_string(static_cast<protozero::pbf_tag_type>(field), safe);
}

void add_time(Writer& to, int field, Time time) {
  to.add_fixed64(static_cast<protozero::pbf_tag_type>(field),
                 static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

// A KeyValue in this field.
void add_attribute(Writer& to, int field, std::string_view name, const Value& value) {
  Writer pair = begin(to, field);
  add_text(pair, key_value::kKey, name);
  Writer out = begin(pair, key_value::kValue);
  if (const auto* text = std::get_if<std::string>(&value))
    add_text(out, any_value::kString, *text);
  else if (const auto* whole = std::get_if<std::int64_t>(&value))
    out.add_int64(any_value::kInt, *whole);
  else
    out.add_bool(any_value::kBool, std::get<bool>(value));
}

void add_resource(Writer& to, const Process& process, const Sender& sender) {
  Writer out = begin(to, in_both::kResource);
  const auto add = [&out](std::string_view name, Value value) {
    add_attribute(out, resource::kAttributes, name, value);
  };
  const auto& [ioc, pid] = process;
  add("service.name", ioc.empty() ? std::string(kUnknownService) : ioc);
  add("service.instance.id", sender.host + ":" + std::to_string(pid));
  add("host.name", sender.host);
  add("process.pid", std::int64_t{pid});
  add("telemetry.sdk.name", std::string("ioc_exporter"));
  add("telemetry.sdk.language", std::string("cpp"));
  add("telemetry.sdk.version", sender.version);
}

void add_scope(Writer& to, const Sender& sender) {
  Writer out = begin(to, in_both::kScope);
  add_text(out, scope::kName, "ioc_exporter");
  add_text(out, scope::kVersion, sender.version);
}

// Eight bytes, as they are written: the first one first.
void add_id(Writer& to, int field, SpanId id) {
  char bytes[8];
  for (char& byte : bytes) {
    byte = static_cast<char>(id >> 56);
    id <<= 8;
  }
  to.add_bytes(static_cast<protozero::pbf_tag_type>(field), bytes, sizeof bytes);
}

// By OpenTelemetry's conventions.
void add_client(Writer& to, const Peer& client) {
  add_attribute(to, span_fields::kAttributes, "client.address", client.address);
  add_attribute(to, span_fields::kAttributes, "client.port", std::int64_t{client.port});
}

int kind_of(const Span& span) {
  if (span.kind == SpanKind::process) return span_fields::kInternal;
  return span.kind == SpanKind::put ? span_fields::kServer : span_fields::kClient;
}

void add_span(Writer& to, const Trace& trace, const Span& span, SpanNames names) {
  using namespace span_fields;
  Writer out = begin(to, scope_spans::kSpans);
  out.add_bytes(kTraceId, reinterpret_cast<const char*>(trace.id.data()), trace.id.size());
  add_id(out, kSpanId, span.id);
  if (const SpanId parent = parent_of(trace, span); parent != 0) add_id(out, kParent, parent);
  add_text(out, kName, name_of(trace, span, names));
  out.add_enum(kKind, kind_of(span));
  add_time(out, kStart, span.start);
  add_time(out, kEnd, span.start + span.duration);
  for (const Attribute& attribute : attributes_of(trace, span))
    add_attribute(out, kAttributes, attribute.name, attribute.value);
  if (const auto peer = peer_of(trace, span)) add_client(out, *peer);
  const std::string failure = failure_of(span);
  if (failure.empty()) return;
  Writer state = begin(out, kStatus);
  add_text(state, status::kMessage, failure);
  state.add_enum(status::kCode, status::kError);
}

void add_process(Writer& to, const Process& process, std::span<const SharedTrace> traces,
                 SpanNames names, const Sender& sender) {
  Writer out = begin(to, request::kResourceSpans);
  add_resource(out, process, sender);
  Writer spans = begin(out, resource_spans::kScopeSpans);
  add_scope(spans, sender);
  for (const SharedTrace& trace : traces)
    for (const Span& span : trace->spans) add_span(spans, *trace, span, names);
}

}  // namespace

Sender Sender::of_this_host(const std::string& version) {
  utsname host{};
  return {::uname(&host) == 0 ? host.nodename : "", version};
}

OtlpBody otlp_body(std::span<const SharedTrace> traces, SpanNames names, const Sender& sender) {
  OtlpBody body;
  std::map<Process, std::vector<SharedTrace>> by_process;
  for (std::size_t size = 0; body.traces < traces.size() && size < kLargestBody; ++body.traces) {
    const SharedTrace& trace = traces[body.traces];
    by_process[{trace->ioc, trace->pid}].push_back(trace);
    size += delivery::footprint(*trace);  // which is somewhat more
  }
  Writer out(body.protobuf);
  for (const auto& [process, own] : by_process) add_process(out, process, own, names, sender);
  return body;
}

delivery::Delivered OtlpSink::deliver(std::span<const SharedTrace> traces) {
  const OtlpBody body = otlp_body(traces, receiver_.names, sender_);
  HttpPost post = receiver_.http.post("/v1/traces", kContentType);
  post.body = body.protobuf.view();
  const std::string where = "send traces to " + post.url;
  const auto read = [&](const Fetched& answer, delivery::Delivered& done) {
    read_answer(answer, where, done);
  };
  return delivery::push({std::move(post), body.traces, where, is_refused, read, words_of});
}

}  // namespace ioc_exporter::traces
