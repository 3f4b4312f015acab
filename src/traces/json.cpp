#include "traces/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/json_reader.h"
#include "base/time_text.h"
#include "exposition/json_text.h"
#include "putlog/json.h"

namespace ioc_exporter::traces {
namespace {

using exposition::append_json_list;
using exposition::append_json_text;
using exposition::JsonObject;

constexpr std::array<std::pair<SpanKind, std::string_view>, 4> kKinds{
    {{SpanKind::process, "process"},
     {SpanKind::put, "put"},
     {SpanKind::link_put, "link_put"},
     {SpanKind::inside_put, "inside_put"}}};

// Absent fields are left out.
void append_flag(JsonObject& object, std::string_view name, bool flag) {
  if (flag) object.key(name) += "true";
}

void append_cause(std::string& out, const Cause& cause) {
  JsonObject object(out);
  object.text("kind", cause.kind);
  object.text("scan", cause.scan);
  object.text("client", cause.client);
  object.text("user", cause.user);
  object.text("client_host", cause.client_host);
  object.text("pv", cause.pv);
  object.text("op", cause.op);
  if (cause.value) putlog::append_json_value(object.key("value"), *cause.value);
  if (cause.seq != 0) object.number("seq", cause.seq);
}

void append_span(std::string& out, const Span& span, Time from) {
  JsonObject object(out);
  object.text("span_id", id_text(span.id));
  if (span.parent != 0) object.text("parent_id", id_text(span.parent));
  object.text("kind", kind_text(span.kind));
  object.text("name", span.name);
  object.text("record_type", span.record_type);
  object.number("offset_ns", (span.start - from).count());
  object.number("duration_ns", span.duration.count());
  object.number("self_ns", span.self.count());
  if (span.until_return) object.number("until_return_ns", span.until_return->count());
  object.text("skipped", span.skipped);
  object.text("alarm", span.alarm);
  object.text("status", span.status);
  object.text("thread", span.thread);
  append_flag(object, "cut", span.cut);
}

// These functions throw Json::Unlike; read_json() catches.
template <class Number>
Number hexadecimal(std::string_view text, const char* key) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (problem != std::errc() || end != text.data() + text.size() ||
      text.size() != 2 * sizeof number)
    throw Json::Unlike(std::string(key) + " is no identifier");
  return number;
}

SpanId span_id_at(const Json& json, const char* key) {
  const std::string text = json.text_at(key);
  return text.empty() ? 0 : hexadecimal<SpanId>(text, key);
}

TraceId trace_id_at(const Json& json, const char* key) {
  const std::string text = json.text_at(key);
  TraceId id{};
  if (text.size() != 2 * id.size()) throw Json::Unlike(std::string(key) + " is no trace");
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = hexadecimal<std::uint8_t>(std::string_view(text).substr(2 * i, 2), key);
  return id;
}

Time time_at(const Json& json, const char* key) {
  const std::string text = json.text_at(key);
  std::tm utc{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::int64_t part = 0;
  if (rest == nullptr || std::string_view(rest).size() != 11 || *rest != '.' || rest[10] != 'Z' ||
      std::from_chars(rest + 1, rest + 10, part).ptr != rest + 10)
    throw Json::Unlike(std::string(key) + " is no time");
  return Time(std::chrono::seconds(::timegm(&utc)) + Duration(part));
}

// Absent is 0, and false.
std::int64_t number_at(const Json& json, const char* key) {
  const Json* const found = json.find(key);
  return found == nullptr ? 0 : found->integer();
}

bool flag_at(const Json& json, const char* key) {
  const Json* const found = json.find(key);
  return found != nullptr && found->flag();
}

putlog::Element element_of(const Json& json) {
  if (const auto* const text = json.get_if<std::string>()) return *text;
  if (const auto* const whole = json.get_if<std::int64_t>()) return *whole;
  if (const auto* const great = json.get_if<std::uint64_t>()) return *great;
  return json.number();
}

putlog::Value value_of(const Json& json) {
  putlog::Value value;
  const auto* const elements = json.get_if<Json::Array>();
  value.is_array = elements != nullptr;
  if (elements == nullptr) {
    value.elements.push_back(element_of(json));
    return value;
  }
  for (const Json& element : *elements) value.elements.push_back(element_of(element));
  return value;
}

Cause cause_of(const Json& json) {
  Cause cause{.kind = json.text_at("kind"),
              .scan = json.text_at("scan"),
              .client = json.text_at("client"),
              .user = json.text_at("user"),
              .client_host = json.text_at("client_host"),
              .pv = json.text_at("pv"),
              .op = json.text_at("op")};
  if (const Json* const value = json.find("value")) cause.value = value_of(*value);
  if (const Json* const seq = json.find("seq")) cause.seq = seq->count();
  return cause;
}

Span span_of(const Json& json, Time from) {
  Span span;
  const std::string kind = json.text_at("kind");
  const auto known = std::ranges::find(kKinds, kind, [](const auto& row) { return row.second; });
  if (known == kKinds.end()) throw Json::Unlike("kind of a span is \"" + kind + "\"");
  span.kind = known->first;
  span.id = span_id_at(json, "span_id");
  span.parent = span_id_at(json, "parent_id");
  span.name = json.text_at("name");
  span.record_type = json.text_at("record_type");
  span.start = from + Duration(json.at("offset_ns").integer());
  span.duration = Duration(json.at("duration_ns").integer());
  span.self = Duration(json.at("self_ns").integer());
  if (const Json* const until = json.find("until_return_ns"))
    span.until_return = Duration(until->integer());
  span.skipped = json.text_at("skipped");
  span.alarm = json.text_at("alarm");
  span.status = json.text_at("status");
  span.thread = json.text_at("thread");
  span.cut = flag_at(json, "cut");
  return span;
}

Trace trace_of(const Json& json) {
  Trace trace;
  trace.id = trace_id_at(json, "trace_id");
  trace.parent = span_id_at(json, "parent_id");
  trace.ioc = json.text_at("ioc");
  trace.pid = static_cast<int>(number_at(json, "pid"));
  trace.thread = json.text_at("thread");
  trace.tid = static_cast<int>(number_at(json, "tid"));
  trace.cause = cause_of(json.at("cause"));
  for (const Json& why : json.at("why").items()) trace.why.push_back(why.text());
  trace.cut = flag_at(json, "cut");
  const Time from = time_at(json, "time");
  for (const Json& span : json.at("spans").items()) trace.spans.push_back(span_of(span, from));
  return trace;
}

}  // namespace

std::string_view kind_text(SpanKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].second;
}

std::string id_text(const TraceId& id) {
  std::string text;
  char byte[3];
  for (const std::uint8_t one : id) {
    std::snprintf(byte, sizeof byte, "%02x", one);
    text += byte;
  }
  return text;
}

std::string id_text(SpanId id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

void append_json(std::string& out, const Trace& trace) {
  const Time from = trace.spans.empty() ? Time() : trace.spans.front().start;
  JsonObject object(out);
  object.text("time", time_text(from));
  object.text("trace_id", id_text(trace.id));
  if (trace.parent != 0) object.text("parent_id", id_text(trace.parent));
  object.text("ioc", trace.ioc);
  object.number("pid", trace.pid);
  object.text("thread", trace.thread);
  object.number("tid", trace.tid);
  append_cause(object.key("cause"), trace.cause);
  append_json_list(object.key("why"), trace.why,
                   [&](const std::string& why) { append_json_text(out, why); });
  append_flag(object, "cut", trace.cut);
  append_json_list(object.key("spans"), trace.spans,
                   [&](const Span& span) { append_span(out, span, from); });
}

std::string to_json(const Trace& trace) {
  std::string out;
  append_json(out, trace);
  return out;
}

Result<Trace> trace_from_json(std::string_view line) {
  auto trace = read_json(line, trace_of);
  if (!trace) return error_in_words("read a trace: " + trace.error().message());
  return trace;
}

}  // namespace ioc_exporter::traces
