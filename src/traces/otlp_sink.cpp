#include "traces/otlp_sink.h"

#include <map>
#include <variant>
#include <vector>

#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

using otlp::Writer;

// Of the messages that are written.
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

// Eight bytes, as they are written: the first one first.
void add_id(Writer& to, int field, SpanId id) {
  char bytes[8];
  for (char& byte : bytes) {
    byte = static_cast<char>(id >> 56);
    id <<= 8;
  }
  to.add_bytes(static_cast<protozero::pbf_tag_type>(field), bytes, sizeof bytes);
}

otlp::Scalar scalar_of(const Attribute& attribute) {
  return std::visit([](const auto& value) { return otlp::Scalar(value); }, attribute.value);
}

// By OpenTelemetry's conventions.
void add_client(Writer& to, const Peer& client) {
  otlp::add_attribute(to, span_fields::kAttributes, "client.address", client.address);
  otlp::add_attribute(to, span_fields::kAttributes, "client.port", std::int64_t{client.port});
}

int kind_of(const Span& span) {
  if (span.kind == SpanKind::process) return span_fields::kInternal;
  return span.kind == SpanKind::put ? span_fields::kServer : span_fields::kClient;
}

void add_span(Writer& to, const Trace& trace, const Span& span, SpanNames names) {
  using namespace span_fields;
  Writer out = otlp::begin(to, scope_spans::kSpans);
  out.add_bytes(kTraceId, reinterpret_cast<const char*>(trace.id.data()), trace.id.size());
  add_id(out, kSpanId, span.id);
  if (const SpanId parent = parent_of(trace, span); parent != 0) add_id(out, kParent, parent);
  otlp::add_text(out, kName, name_of(trace, span, names));
  out.add_enum(kKind, kind_of(span));
  otlp::add_time(out, kStart, span.start);
  otlp::add_time(out, kEnd, span.start + span.duration);
  for (const Attribute& attribute : attributes_of(trace, span))
    otlp::add_attribute(out, kAttributes, attribute.name, scalar_of(attribute));
  if (const auto peer = peer_of(trace, span)) add_client(out, *peer);
  const std::string failure = failure_of(span);
  if (failure.empty()) return;
  Writer state = otlp::begin(out, kStatus);
  otlp::add_text(state, status::kMessage, failure);
  state.add_enum(status::kCode, status::kError);
}

void add_process(Writer& to, const otlp::Process& process, std::span<const SharedTrace> traces,
                 SpanNames names, const otlp::Sender& sender) {
  Writer out = otlp::begin(to, request::kResourceSpans);
  otlp::add_resource(out, process, sender);
  Writer spans = otlp::begin(out, resource_spans::kScopeSpans);
  otlp::add_scope(spans, sender);
  for (const SharedTrace& trace : traces)
    for (const Span& span : trace->spans) add_span(spans, *trace, span, names);
}

}  // namespace

OtlpBody otlp_body(std::span<const SharedTrace> traces, SpanNames names,
                   const otlp::Sender& sender) {
  OtlpBody body;
  std::map<otlp::Process, std::vector<SharedTrace>> by_process;
  for (std::size_t size = 0; body.traces < traces.size() && size < otlp::kLargestBody;
       ++body.traces) {
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
  return otlp::send(receiver_.http, body.protobuf, body.traces);
}

}  // namespace ioc_exporter::traces
