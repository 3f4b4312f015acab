#include "exposition/label_text.h"

#include <algorithm>

namespace ioc_exporter::exposition {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xC0u) == 0x80u;
}

// Plain bytes need neither a look at UTF-8 nor an escape, in labels as in HELP.
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

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (!is_continuation(text, 1)) return 0;
  const unsigned second = byte_at(text, 1);
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (!is_continuation(text, 2)) return 0;
  if (first == 0xE0) return second >= 0xA0 ? 3 : 0;  // shorter forms exist below
  if (first == 0xED) return second <= 0x9F ? 3 : 0;  // surrogates above
  if (first >= 0xE1 && first <= 0xEF) return 3;
  if (!is_continuation(text, 3)) return 0;
  if (first == 0xF0) return second >= 0x90 ? 4 : 0;
  if (first >= 0xF1 && first <= 0xF3) return 4;
  if (first == 0xF4) return second <= 0x8F ? 4 : 0;  // up to U+10FFFF
  return 0;
}

std::string utf8_safe(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
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
