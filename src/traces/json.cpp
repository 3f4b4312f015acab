#include "traces/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

#include <nlohmann/json.hpp>

#include "exposition/json_text.h"
#include "putlog/json.h"

namespace ioc_exporter::traces {
namespace {

using exposition::append_json_text;
using exposition::JsonObject;
using Json = nlohmann::json;

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

// These functions throw nlohmann's exceptions and std::invalid_argument; trace_from_json() catches.
std::string text_at(const Json& json, const char* key) {
  return json.value(key, std::string());
}

template <class Number>
Number hexadecimal(std::string_view text, const char* key) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (problem != std::errc() || end != text.data() + text.size() ||
      text.size() != 2 * sizeof number)
    throw std::invalid_argument(std::string(key) + " is no identifier");
  return number;
}

SpanId span_id_at(const Json& json, const char* key) {
  const std::string text = text_at(json, key);
  return text.empty() ? 0 : hexadecimal<SpanId>(text, key);
}

TraceId trace_id_at(const Json& json, const char* key) {
  const std::string text = text_at(json, key);
  TraceId id{};
  if (text.size() != 2 * id.size()) throw std::invalid_argument(std::string(key) + " is no trace");
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = hexadecimal<std::uint8_t>(std::string_view(text).substr(2 * i, 2), key);
  return id;
}

Time time_at(const Json& json, const char* key) {
  const std::string text = text_at(json, key);
  std::tm utc{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::int64_t part = 0;
  if (rest == nullptr || std::string_view(rest).size() != 11 || *rest != '.' || rest[10] != 'Z' ||
      std::from_chars(rest + 1, rest + 10, part).ptr != rest + 10)
    throw std::invalid_argument(std::string(key) + " is no time");
  return Time(std::chrono::seconds(::timegm(&utc)) + Duration(part));
}

putlog::Element element_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return json.get<double>();
}

putlog::Value value_of(const Json& json) {
  putlog::Value value;
  value.is_array = json.is_array();
  if (!value.is_array) {
    value.elements.push_back(element_of(json));
    return value;
  }
  for (const Json& element : json) value.elements.push_back(element_of(element));
  return value;
}

Cause cause_of(const Json& json) {
  Cause cause{.kind = text_at(json, "kind"),
              .scan = text_at(json, "scan"),
              .client = text_at(json, "client"),
              .user = text_at(json, "user"),
              .client_host = text_at(json, "client_host"),
              .pv = text_at(json, "pv"),
              .op = text_at(json, "op")};
  if (const auto value = json.find("value"); value != json.end()) cause.value = value_of(*value);
  cause.seq = json.value("seq", std::uint64_t{0});
  return cause;
}

Span span_of(const Json& json, Time from) {
  Span span;
  const std::string kind = text_at(json, "kind");
  const auto known = std::ranges::find(kKinds, kind, [](const auto& row) { return row.second; });
  if (known == kKinds.end()) throw std::invalid_argument("kind of a span is \"" + kind + "\"");
  span.kind = known->first;
  span.id = span_id_at(json, "span_id");
  span.parent = span_id_at(json, "parent_id");
  span.name = text_at(json, "name");
  span.record_type = text_at(json, "record_type");
  span.start = from + Duration(json.at("offset_ns").get<std::int64_t>());
  span.duration = Duration(json.at("duration_ns").get<std::int64_t>());
  span.self = Duration(json.at("self_ns").get<std::int64_t>());
  if (json.contains("until_return_ns"))
    span.until_return = Duration(json["until_return_ns"].get<std::int64_t>());
  span.skipped = text_at(json, "skipped");
  span.alarm = text_at(json, "alarm");
  span.status = text_at(json, "status");
  span.thread = text_at(json, "thread");
  span.cut = json.value("cut", false);
  return span;
}

Trace trace_of(const Json& json) {
  Trace trace;
  trace.id = trace_id_at(json, "trace_id");
  trace.parent = span_id_at(json, "parent_id");
  trace.ioc = text_at(json, "ioc");
  trace.pid = json.value("pid", 0);
  trace.thread = text_at(json, "thread");
  trace.tid = json.value("tid", 0);
  trace.cause = cause_of(json.at("cause"));
  trace.why = json.at("why").get<std::vector<std::string>>();
  trace.cut = json.value("cut", false);
  const Time from = time_at(json, "time");
  for (const Json& span : json.at("spans")) trace.spans.push_back(span_of(span, from));
  return trace;
}

template <class Range, class Append>
void append_list(std::string& out, const Range& range, Append append) {
  out += '[';
  bool first = true;
  for (const auto& one : range) {
    if (!std::exchange(first, false)) out += ',';
    append(one);
  }
  out += ']';
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
  object.text("time", putlog::time_text(from));
  object.text("trace_id", id_text(trace.id));
  if (trace.parent != 0) object.text("parent_id", id_text(trace.parent));
  object.text("ioc", trace.ioc);
  object.number("pid", trace.pid);
  object.text("thread", trace.thread);
  object.number("tid", trace.tid);
  append_cause(object.key("cause"), trace.cause);
  append_list(object.key("why"), trace.why,
              [&](const std::string& why) { append_json_text(out, why); });
  append_flag(object, "cut", trace.cut);
  append_list(object.key("spans"), trace.spans,
              [&](const Span& span) { append_span(out, span, from); });
}

std::string to_json(const Trace& trace) {
  std::string out;
  append_json(out, trace);
  return out;
}

Result<Trace> trace_from_json(std::string_view line) {
  try {
    return trace_of(Json::parse(line));
  } catch (const std::exception& problem) {  // nlohmann's, or of a key that makes no sense
    return error_in_words(std::string("read a trace: ") + problem.what());
  }
}

}  // namespace ioc_exporter::traces
