// Letters, blanks and lines of ASCII, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ioc_exporter {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Without the blanks at both ends: spaces, tabs, ends of lines.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The first line, without its end; `text` goes on behind it.
constexpr std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Numbers in the texts of /proc.

// The number behind `field` and blanks in `text`, up to something else.
inline std::optional<std::uint64_t> number_after(std::string_view text, std::string_view field,
                                                 int base = 10) {
  const auto at = text.find(field);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + field.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace ioc_exporter
