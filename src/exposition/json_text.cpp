#include "exposition/json_text.h"

#include <cstdio>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "exposition/label_text.h"

namespace ioc_exporter::exposition {
namespace {

// Some readers take U+2028 and U+2029 for line ends.
bool steers(std::string_view sequence) {
  return is_control(sequence) || turns_text(sequence) || sequence == "\u2028" ||
         sequence == "\u2029";
}

void append_escape(std::string& out, std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  unsigned code = byte(0);
  if (sequence.size() == 2) code = (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
  if (sequence.size() == 3)
    code = (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", code);
  out += text;
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f &&
         c != '"' && c != '\\';
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  std::string safe;
  for (const char c : text)
    if (!is_plain(c)) {
      safe = utf8_safe(text);
      text = safe;
      break;
    }
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_plain(text[length])) ++length;
    out.append(text.substr(0, length));
    text.remove_prefix(length);
    if (text.empty()) break;
    const std::string_view sequence = text.substr(0, utf8_sequence(text));
    if (sequence == "\"" || sequence == "\\")
      out.append("\\").append(sequence);
    else if (sequence == "\n")
      out += "\\n";
    else if (steers(sequence))
      append_escape(out, sequence);
    else
      out.append(sequence);
    text.remove_prefix(sequence.size());
  }
  out += '"';
}

void append_json(std::string& out, const Json& json) {
  if (json.is_null()) {
    out += "null";
  } else if (const auto* const flag = json.get_if<bool>()) {
    out += *flag ? "true" : "false";
  } else if (const auto* const whole = json.get_if<std::int64_t>()) {
    append_json_number(out, *whole);
  } else if (const auto* const great = json.get_if<std::uint64_t>()) {
    append_json_number(out, *great);
  } else if (const auto* const number = json.get_if<double>()) {
    append_json_number(out, *number);
  } else if (const auto* const text = json.get_if<std::string>()) {
    append_json_text(out, *text);
  } else if (const auto* const array = json.get_if<Json::Array>()) {
    append_json_list(out, *array, [&out](const Json& one) { append_json(out, one); });
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : std::get<Json::Object>(json.value)) {
      if (!std::exchange(first, false)) out += ',';
      append_json_text(out, key);
      out += ':';
      append_json(out, value);
    }
    out += '}';
  }
}

}  // namespace ioc_exporter::exposition
