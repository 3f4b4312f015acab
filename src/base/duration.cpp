#include "base/duration.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ioc_exporter {
namespace {

constexpr double kLongestSeconds = 10.0 * 365 * 24 * 3600;

// Seconds that one of the unit is; 0 for what is no unit.
double seconds_of(std::string_view unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 24 * 3600;
  return 0;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(const std::string& text) {
  const auto refuse = [&text] {
    return error_in_words("parse duration \"" + text +
                          "\": not of the form 500ms, 5s, 1m30s, 2h or 0.5");
  };
  const char* at = text.data();
  const char* const end = at + text.size();
  double seconds = 0;
  if (at == end) return refuse();
  while (at != end) {
    double number = 0;
    const auto [after, failed] = std::from_chars(at, end, number, std::chars_format::fixed);
    if (failed != std::errc() || !std::isfinite(number) || number < 0) return refuse();
    const char* unit_end = after;
    while (unit_end != end && (*unit_end < '0' || *unit_end > '9')) ++unit_end;
    const bool plain_number = after == end && at == text.data();
    const double unit =
        plain_number ? 1 : seconds_of({after, static_cast<std::size_t>(unit_end - after)});
    if (unit == 0) return refuse();
    seconds += number * unit;
    at = unit_end;
  }
  if (seconds > kLongestSeconds) return refuse();
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::string duration_text(std::chrono::milliseconds duration) {
  constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
  std::int64_t left = duration.count();
  std::string text;
  for (const auto& [unit, size] : kUnits) {
    if (left >= size) text.append(std::to_string(left / size)).append(unit);
    left %= size;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace ioc_exporter
