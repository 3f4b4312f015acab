// Numbers in the texts of /proc.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ioc_exporter {

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
