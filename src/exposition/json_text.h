// JSON for answers about hosts and IOCs. Texts are as the labels on /metrics (bytes that are not
// UTF-8 appear as \xNN), and no character in them can control a terminal. Integers are exact.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ioc_exporter {
struct Json;
}

namespace ioc_exporter::exposition {

// In quotes.
void append_json_text(std::string& out, std::string_view text);

// A finite number, in the shortest exact form.
template <class Number>
void append_json_number(std::string& out, Number number) {
  char text[32];
  const auto [end, problem] = std::to_chars(text, text + sizeof text, number);
  if (problem == std::errc()) out.append(text, end);
}

// An object, whose braces it writes: one key after the other. Names need no escapes.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // The caller appends the value to the returned text.
  std::string& key(std::string_view name) {
    if (!std::exchange(first_, false)) out_ += ',';
    out_ += '"';
    out_.append(name).append("\":");
    return out_;
  }
  // Leaves out an empty text.
  void text(std::string_view name, std::string_view text) {
    if (!text.empty()) append_json_text(key(name), text);
  }
  // An empty one, too.
  void any_text(std::string_view name, std::string_view text) { append_json_text(key(name), text); }
  void flag(std::string_view name, bool flag) { key(name) += flag ? "true" : "false"; }
  template <class Number>
  void number(std::string_view name, Number number) {
    append_json_number(key(name), number);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// `append` appends one element.
template <class Range, class Append>
void append_json_list(std::string& out, const Range& range, Append append) {
  out += '[';
  bool first = true;
  for (const auto& one : range) {
    if (!std::exchange(first, false)) out += ',';
    append(one);
  }
  out += ']';
}

// A value that base/json_reader.h has read.
void append_json(std::string& out, const Json& json);

}  // namespace ioc_exporter::exposition
