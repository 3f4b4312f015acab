#include "putlog/otlp_sink.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "base/value_text.h"
#include "putlog/filter.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

namespace otlp = delivery::otlp;
using otlp::Writer;

namespace request {
constexpr int kResourceLogs = 1;
}
namespace resource_logs {
constexpr int kScopeLogs = 2;
}
namespace scope_logs {
constexpr int kRecords = 2;
}
namespace record {
constexpr int kTime = 1, kSeverity = 2, kSeverityText = 3, kBody = 5, kAttributes = 6,
              kObservedTime = 11, kEventName = 12;
constexpr int kInfo = 9, kWarn = 13;
}  // namespace record

constexpr const char* kEventName = "epics.put";

otlp::Scalar scalar_of(const Element& element) {
  // OpenTelemetry has signed integers only.
  if (const auto* large = std::get_if<std::uint64_t>(&element)) return std::to_string(*large);
  if (const auto* whole = std::get_if<std::int64_t>(&element)) return *whole;
  if (const auto* number = std::get_if<double>(&element)) return *number;
  return std::get<std::string>(element);
}

void add(Writer& to, std::string_view name, const otlp::Scalar& value) {
  otlp::add_attribute(to, record::kAttributes, name, value);
}

void add(Writer& to, std::string_view name, const std::optional<Value>& value) {
  if (!value) return;
  if (!value->is_array && value->elements.size() == 1)
    return add(to, name, scalar_of(value->elements.front()));
  std::vector<otlp::Scalar> scalars;
  for (const Element& element : value->elements) scalars.push_back(scalar_of(element));
  otlp::add_attribute(to, record::kAttributes, name, scalars);
}

void add_texts(Writer& to, const PutEvent& event) {
  for (const auto& [name, text] : {std::pair{"epics.server", &event.server},
                                   {"epics.client", &event.client},
                                   {"epics.client_process", &event.client_process},
                                   {"epics.user", &event.user},
                                   {"epics.client_host", &event.client_host},
                                   {"epics.channel_of", &event.channel_of},
                                   {"epics.pv", &event.pv},
                                   {"epics.op", &event.op},
                                   {"epics.type", &event.type},
                                   {"epics.value_unknown", &event.value_unknown},
                                   {"epics.process", &event.process},
                                   {"epics.status", &event.status},
                                   {"epics.rule", &event.rule},
                                   {"epics.action", &event.action}})
    if (!text->empty()) add(to, name, *text);
}

// By OpenTelemetry's conventions.
void add_client(Writer& to, const std::string& client) {
  const std::string_view address = address_of(client);
  if (client.empty()) return;
  add(to, "client.address", std::string(address));
  const std::size_t colon = client.rfind(':');
  if (address == client || colon == std::string::npos) return;
  if (const auto port = parse_whole_number(client.substr(colon + 1), 0, UINT16_MAX))
    add(to, "client.port", static_cast<std::int64_t>(*port));
}

constexpr std::size_t kLongest = 120;

std::string shown(const std::string& text) {
  return text.empty() ? "?" : printable_utf8(text, kLongest);
}

std::string shown(const std::optional<Value>& value) {
  std::string text;
  if (value) append_json_value(text, *value);
  return shown(text);
}

// The put on one line, printable, long texts cut: "SR:I: 1.5 -> 2 by ada@console, ok".
std::string in_words(const PutEvent& event) {
  std::string text = shown(event.pv) + ": " + shown(event.old) + " -> " + shown(event.value) +
                     " by " + shown(event.user.empty() ? event.client : event.user);
  if (!event.client_host.empty()) text += "@" + shown(event.client_host);
  if (!event.status.empty()) text += ", " + event.status;
  if (is_unexpected(event)) text += ", " + event.action + ": " + shown(event.rule);
  return text;
}

void add_record(Writer& to, const Entry& entry) {
  const PutEvent& event = *entry.event;
  const bool warns = is_unexpected(event);
  Writer out = otlp::begin(to, scope_logs::kRecords);
  otlp::add_time(out, record::kTime, event.time);
  // It is the kernel that saw it, at that moment.
  otlp::add_time(out, record::kObservedTime, event.time);
  out.add_enum(record::kSeverity, warns ? record::kWarn : record::kInfo);
  otlp::add_text(out, record::kSeverityText, warns ? "WARN" : "INFO");
  otlp::add_words(out, record::kBody, in_words(event));
  add(out, "epics.seq", static_cast<std::int64_t>(event.seq));
  add_texts(out, event);
  if (event.inside)
    add(out, "epics.inside", std::string("true"));
  else
    add_client(out, event.client);
  if (!event.type.empty() || event.value)
    add(out, "epics.count", static_cast<std::int64_t>(event.count));
  add(out, "epics.value", event.value);
  add(out, "epics.sent", event.sent);
  if (event.overread) add(out, "epics.overread", std::string("true"));
  add(out, "epics.old", event.old);
  add(out, "epics.after", event.after);
  if (event.block) add(out, "epics.block", std::string("true"));
  if (!event.fields.empty()) add(out, "epics.fields", fields_json(event.fields));
  if (event.seconds) add(out, "epics.seconds", *event.seconds);
  if (entry.burst) {
    add(out, "epics.burst", static_cast<std::int64_t>(entry.puts));
    if (entry.burst->least) add(out, "epics.min", scalar_of(*entry.burst->least));
    if (entry.burst->most) add(out, "epics.max", scalar_of(*entry.burst->most));
  }
  otlp::add_text(out, record::kEventName, kEventName);
}

}  // namespace

OtlpLogs otlp_logs(std::span<const Entry> entries, const otlp::Sender& sender) {
  OtlpLogs logs;
  std::map<std::string_view, std::vector<const Entry*>> by_ioc;
  for (std::size_t size = 0; logs.entries < entries.size() && size < otlp::kLargestBody;
       ++logs.entries) {
    const Entry& entry = entries[logs.entries];
    by_ioc[entry.event->ioc].push_back(&entry);
    size += delivery::footprint(*entry.event);  // which is about that
  }
  Writer out(logs.protobuf);
  for (const auto& [ioc, own] : by_ioc) {
    Writer resource = otlp::begin(out, request::kResourceLogs);
    otlp::add_resource(resource, {.ioc = std::string(ioc)}, sender);
    Writer records = otlp::begin(resource, resource_logs::kScopeLogs);
    otlp::add_scope(records, sender);
    for (const Entry* entry : own) add_record(records, *entry);
  }
  return logs;
}

delivery::Delivered OtlpSink::deliver(std::span<const Entry> entries) {
  const OtlpLogs logs = otlp_logs(entries, sender_);
  return otlp::send({receiver_, "/v1/logs", "puts", "log records", logs.protobuf, logs.entries});
}

}  // namespace ioc_exporter::putlog
