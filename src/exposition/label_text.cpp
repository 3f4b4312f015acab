#include "exposition/label_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace ioc_exporter::exposition {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Plain bytes need neither a check of UTF-8 nor an escape, in labels as in HELP.
bool is_plain(char c) {
  return static_cast<unsigned char>(c) < 0x80 && c != '\\' && c != '"' && c != '\n';
}

void append_hex(std::string& out, unsigned byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15u];
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string utf8_safe(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    const bool ambiguous = text.size() > 1 && text[0] == '\\' && text[1] == 'x';
    if (length == 0 || ambiguous) {
      append_hex(safe, byte_at(text, 0));
      text.remove_prefix(1);
    } else {
      safe += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return safe;
}

void append_label_value(std::string& out, std::string_view value) {
  if (std::all_of(value.begin(), value.end(), is_plain)) {
    out += value;
    return;
  }
  append_escaped(out, utf8_safe(value), true);
}

void append_help(std::string& out, std::string_view help) {
  append_escaped(out, utf8_safe(help), false);
}

}  // namespace ioc_exporter::exposition
