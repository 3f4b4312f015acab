#include "traces/out_span.h"

#include <cstdlib>
#include <utility>

#include "delivery/receiver.h"
#include "putlog/json.h"
#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

bool is_first(const Trace& trace, const Span& span) {
  return &span == &trace.spans.front();
}

// A text as it is, all else as in JSON.
std::string value_text(const putlog::Value& value) {
  if (!value.is_array && value.elements.size() == 1)
    if (const auto* text = std::get_if<std::string>(&value.elements.front())) return *text;
  std::string json;
  putlog::append_json_value(json, value);
  return json;
}

// Attributes that are known.
class Attributes {
 public:
  void text(std::string_view name, const std::string& text) {
    if (!text.empty()) all_.push_back({name, text});
  }
  void number(std::string_view name, std::int64_t number) { all_.push_back({name, number}); }
  void flag(std::string_view name, bool flag) {
    if (flag) all_.push_back({name, true});
  }
  std::vector<Attribute> take() { return std::move(all_); }

 private:
  std::vector<Attribute> all_;
};

void add_cause(Attributes& all, const Cause& cause) {
  all.text("epics.cause", cause.kind);
  all.text("epics.scan", cause.scan);
  all.text("epics.client", cause.client);
  all.text("epics.client_host", cause.client_host);
  all.text("epics.user", cause.user);
  all.text("epics.op", cause.op);
  if (cause.value) all.text("epics.value", value_text(*cause.value));
  if (cause.seq != 0) all.number("epics.put_seq", static_cast<std::int64_t>(cause.seq));
}

void add_trace(Attributes& all, const Trace& trace) {
  add_cause(all, trace.cause);
  all.text("epics.thread", trace.thread);
  if (trace.tid != 0) all.number("epics.tid", trace.tid);
  std::string why;
  for (const std::string& one : trace.why) why += (why.empty() ? "" : ",") + one;
  all.text("epics.why", why);
  all.flag("epics.trace_cut", trace.cut);
}

}  // namespace

std::string name_of(const Trace& trace, const Span& span, SpanNames names) {
  if (names == SpanNames::record && !span.name.empty()) return span.name;
  const std::string kind(kind_text(span.kind));
  switch (span.kind) {
    case SpanKind::process:
      return span.record_type.empty() ? kind : span.record_type;
    case SpanKind::put:
      return trace.cause.op.empty() ? kind : trace.cause.op;
    case SpanKind::link_put:
    case SpanKind::inside_put:
      break;
  }
  return kind;
}

SpanId parent_of(const Trace& trace, const Span& span) {
  return is_first(trace, span) ? trace.parent : span.parent;
}

std::optional<Peer> peer_of(const Trace& trace, const Span& span) {
  if (span.kind != SpanKind::put) return std::nullopt;
  const auto place = delivery::parse_host_and_port(trace.cause.client);
  if (!place) return std::nullopt;
  return Peer{place->host, static_cast<std::uint16_t>(std::atoi(place->port.c_str()))};
}

std::vector<Attribute> attributes_of(const Trace& trace, const Span& span) {
  Attributes all;
  all.text("epics.span", std::string(kind_text(span.kind)));
  if (span.kind == SpanKind::process) {
    all.text("epics.record", span.name);
    all.text("epics.record_type", span.record_type);
    all.number("epics.self_ns", span.self.count());
    if (span.until_return) all.number("epics.until_return_ns", span.until_return->count());
  }
  if (span.kind != SpanKind::process)
    all.text("epics.pv", span.name);
  else if (is_first(trace, span))
    all.text("epics.pv", trace.cause.pv);
  all.text("epics.skipped", span.skipped);
  all.text("epics.alarm", span.alarm);
  all.text("epics.status", span.status);
  all.text("epics.completed_by", span.thread);
  all.flag("epics.cut", span.cut);
  if (is_first(trace, span)) add_trace(all, trace);
  return all.take();
}

std::string failure_of(const Span& span) {
  if (span.alarm != "INVALID") return "";
  return span.status.empty() ? span.alarm : span.alarm + " " + span.status;
}

}  // namespace ioc_exporter::traces
