#include "traces/zipkin_sink.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "delivery/receiver.h"
#include "exposition/json_text.h"
#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

using exposition::append_json_text;
using exposition::JsonObject;
using Microseconds = std::chrono::sys_time<std::chrono::microseconds>;

// All are texts there.
std::string attribute_text(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute.value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value))
    return std::to_string(*number);
  return std::get<bool>(attribute.value) ? "true" : "false";
}

void append_peer(JsonObject& object, const Peer& peer) {
  JsonObject endpoint(object.key("remoteEndpoint"));
  endpoint.text(peer.address.find(':') == std::string::npos ? "ipv4" : "ipv6", peer.address);
  endpoint.number("port", peer.port);
}

void append_tags(std::string& out, const Trace& trace, const Span& span) {
  JsonObject tags(out);
  for (const Attribute& attribute : attributes_of(trace, span))
    tags.text(attribute.name, attribute_text(attribute));
  tags.text("error", failure_of(span));
}

void append_zipkin_span(std::string& out, const Trace& trace, const Span& span, SpanNames names) {
  // Both ends are cut alike, so that a span within another one stays within it.
  const auto start = std::chrono::floor<Microseconds::duration>(span.start);
  const auto end = std::chrono::floor<Microseconds::duration>(span.start + span.duration);
  JsonObject object(out);
  object.text("traceId", id_text(trace.id));
  object.text("id", id_text(span.id));
  if (const SpanId parent = parent_of(trace, span); parent != 0)
    object.text("parentId", id_text(parent));
  object.text("name", name_of(trace, span, names));
  if (span.kind != SpanKind::process)
    object.text("kind", span.kind == SpanKind::put ? "SERVER" : "CLIENT");
  object.number("timestamp", start.time_since_epoch().count());
  object.number("duration", std::max<std::int64_t>(1, (end - start).count()));
  {
    JsonObject endpoint(object.key("localEndpoint"));
    endpoint.text("serviceName", trace.ioc.empty() ? kUnknownService : trace.ioc);
  }
  if (const auto peer = peer_of(trace, span)) append_peer(object, *peer);
  append_tags(object.key("tags"), trace, span);
}

}  // namespace

ZipkinBody zipkin_body(std::span<const SharedTrace> traces, SpanNames names) {
  ZipkinBody body{"[", 0};
  for (const SharedTrace& trace : traces) {
    if (body.json.size() >= kLargestBody) break;
    for (const Span& span : trace->spans) {
      if (body.json.size() > 1) body.json += ',';
      append_zipkin_span(body.json, *trace, span, names);
    }
    ++body.traces;
  }
  body.json += ']';
  return body;
}

delivery::Delivered ZipkinSink::deliver(std::span<const SharedTrace> traces) {
  ZipkinBody body = zipkin_body(traces, receiver_.names);
  HttpPost post = receiver_.http.post("/api/v2/spans", "application/json");
  post.body = std::move(body.json);
  const std::string where = "send traces to " + post.url;
  return delivery::push({std::move(post), body.traces, where});
}

}  // namespace ioc_exporter::traces
