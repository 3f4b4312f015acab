// Text from processes that nobody checked, made fit for a label: valid, printable UTF-8.
// Header only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ioc_exporter {

// Length of the valid UTF-8 sequence at the start of `text` (RFC 3629), 0 when there is none.
inline std::size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_high = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_high ? 0 : length;
}

// Whether `text` begins with a character that turns what follows around (U+202A to U+202E, U+2066
// to U+2069), so that a line says something else than what it holds.
inline bool turns_text(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  return (text[1] == '\x80' && text[2] >= '\xaa' && text[2] <= '\xae') ||
         (text[1] == '\x81' && text[2] >= '\xa6' && text[2] <= '\xa9');
}

// Whether `text` begins with a control character (C0, DEL, C1).
inline bool is_control(std::string_view text) {
  if (text.empty()) return false;
  const auto first = static_cast<unsigned char>(text[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && text.size() > 1 && (text[1] & 0xE0) == 0x80);
}

// Control characters and what is no UTF-8 become '_'; cut to `max` bytes between
// characters; spaces at both ends go.
inline std::string printable_utf8(std::string_view text, std::size_t max) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    const bool keep = length != 0 && !is_control(text) && !turns_text(text);
    if (clean.size() + (keep ? length : 1) > max) break;
    if (keep)
      clean += text.substr(0, length);
    else
      clean += '_';
    text.remove_prefix(length == 0 ? 1 : length);
  }
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

}  // namespace ioc_exporter
