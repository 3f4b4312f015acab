#include "putlog/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <span>
#include <utility>

#include "base/time_text.h"
#include "exposition/json_text.h"
#include "putlog/database_types.h"
#include "putlog/value.h"

namespace ioc_exporter::putlog {
namespace {

using exposition::append_json_number;
using exposition::append_json_text;
using exposition::JsonObject;

// Size of an array that caPutLog keeps, in bytes of its storage.
constexpr std::size_t kCaPutLogBytes = 400;

void append_element(std::string& out, const Element& element) {
  if (const auto* text = std::get_if<std::string>(&element)) return append_json_text(out, *text);
  if (const auto* whole = std::get_if<std::int64_t>(&element))
    return append_json_number(out, *whole);
  if (const auto* large = std::get_if<std::uint64_t>(&element))
    return append_json_number(out, *large);
  const double number = std::get<double>(element);
  if (std::isnan(number)) return append_json_text(out, "NaN");
  if (std::isinf(number)) return append_json_text(out, number > 0 ? "Infinity" : "-Infinity");
  append_json_number(out, number);
}

// `append`: of an element. `most`: elements.
template <class Append>
void append_value(std::string& out, const Value& value, std::size_t most, Append append) {
  if (!value.is_array && value.elements.size() == 1) return append(out, value.elements.front());
  char before = '[';
  for (const Element& element :
       std::span(value.elements).first(std::min(most, value.elements.size()))) {
    out += std::exchange(before, ',');
    append(out, element);
  }
  out += before == '[' ? "[]" : "]";
}

void append_value(JsonObject& object, std::string_view name, const std::optional<Value>& value) {
  if (value) append_json_value(object.key(name), *value);
}

void append_fields(std::string& out, const std::vector<PutField>& fields) {
  char before = '[';
  for (const PutField& field : fields) {
    out += std::exchange(before, ',');
    JsonObject object(out);
    object.text("field", field.field);
    object.text("type", field.type);
    append_json_number(object.key("count"), field.count);
    append_value(object, "value", field.value);
    append_value(object, "sent", field.sent);
    append_value(object, "old", field.old);
  }
  out += ']';
}

// Of a value of that type, as caPutLog R4.1 writes it.
void append_caputlog_element(std::string& out, const Element& element, Dbf kind) {
  const double* const number = std::get_if<double>(&element);
  if (number == nullptr || std::isinf(*number)) return append_element(out, element);
  if (std::isnan(*number)) return append_json_text(out, "Nan");
  char text[32];
  const auto [end, problem] = std::to_chars(
      text, text + sizeof text, *number, std::chars_format::general, kind == Dbf::float32 ? 8 : 17);
  const std::string_view digits(text, end);
  out += digits;
  if (digits.find_first_not_of("0123456789-") == std::string_view::npos) out += ".0";
}

// Its DBF_CHAR are texts, its arrays of DBF_UCHAR numbers.
Value caputlog_value(const Value& value, Dbf kind) {
  const bool is_shown_as_text =
      value.elements.size() == 1 && std::holds_alternative<std::string>(value.elements.front());
  const auto text = is_shown_as_text || kind == Dbf::character ? text_in(value) : std::nullopt;
  Value shown{{}, is_shown_as_text || value.is_array};
  if (text && kind == Dbf::character) {
    shown.elements = {text->substr(0, kCaPutLogBytes)};
  } else if (text && kind == Dbf::uchar) {
    for (const char character : *text)
      shown.elements.emplace_back(std::int64_t{static_cast<unsigned char>(character)});
    if (value.whole_size() == text->size() + 1) shown.elements.emplace_back(std::int64_t{0});
  } else {
    return value;
  }
  return shown;
}

void append_caputlog_value(JsonObject& object, std::string_view name,
                           const std::optional<Value>& known, Dbf kind) {
  if (!known) return;
  const Value value = caputlog_value(*known, kind);
  append_value(object.key(name), value, kCaPutLogBytes / std::max(1U, size_of(kind)),
               [kind](std::string& out, const Element& element) {
                 append_caputlog_element(out, element, kind);
               });
  if (value.is_array)
    append_json_number(object.key(std::string(name) + "-size"), known->whole_size());
}

}  // namespace

void append_json_value(std::string& out, const Value& value) {
  append_value(out, value, value.elements.size(), append_element);
}

void append_json(std::string& out, const Entry& entry) {
  const PutEvent& event = *entry.event;
  JsonObject object(out);
  object.text("time", time_text(event.time));
  append_json_number(object.key("seq"), event.seq);
  object.text("ioc", event.ioc);
  object.text("server", event.server);
  object.text("client", event.client);
  object.text("user", event.user);
  object.text("client_host", event.client_host);
  object.text("channel_of", event.channel_of);
  object.text("pv", event.pv);
  object.text("op", event.op);
  object.text("type", event.type);
  if (!event.type.empty() || event.value) append_json_number(object.key("count"), event.count);
  append_value(object, "value", event.value);
  append_value(object, "sent", event.sent);
  if (!event.fields.empty()) append_fields(object.key("fields"), event.fields);
  object.text("value_unknown", event.value_unknown);
  if (event.inside) object.key("inside") += "true";
  if (event.overread) object.key("overread") += "true";
  append_value(object, "old", event.old);
  append_value(object, "after", event.after);
  object.text("process", event.process);
  if (event.block) object.key("block") += "true";
  object.text("status", event.status);
  if (event.seconds && std::isfinite(*event.seconds))
    append_json_number(object.key("seconds"), *event.seconds);
  object.text("rule", event.rule);
  object.text("action", event.action);
  if (!entry.burst) return;
  if (entry.burst->least) append_element(object.key("min"), *entry.burst->least);
  if (entry.burst->most) append_element(object.key("max"), *entry.burst->most);
  append_json_number(object.key("burst"), entry.puts);
}

std::string to_json(const PutEvent& event) {
  std::string out;
  append_json(out, Entry{std::make_shared<const PutEvent>(event)});
  return out;
}

void append_caputlog_json(std::string& out, const Entry& entry) {
  const PutEvent& event = *entry.event;
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(event.time.time_since_epoch());
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(whole).count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  JsonObject object(out);
  std::strftime(text, sizeof text, "%Y-%m-%d", &local);
  object.text("date", text);
  const std::size_t length = std::strftime(text, sizeof text, "%H:%M:%S", &local);
  std::snprintf(text + length, sizeof text - length, ".%03d",
                static_cast<int>((whole - std::chrono::seconds(seconds)).count()));
  object.text("time", text);
  append_json_text(object.key("host"),
                   event.client_host.empty() ? address_of(event) : event.client_host);
  append_json_text(object.key("user"), event.user);
  append_json_text(object.key("pv"), event.pv);
  append_caputlog_value(object, "new", event.value, event.kind);
  append_caputlog_value(object, "old", event.old, event.kind);
  if (!entry.burst || !entry.burst->least || !entry.burst->most) return;
  append_caputlog_element(object.key("min"), *entry.burst->least, event.kind);
  append_caputlog_element(object.key("max"), *entry.burst->most, event.kind);
  append_json_number(object.key("burst"), entry.puts - 1);  // those that have no line
}

}  // namespace ioc_exporter::putlog
