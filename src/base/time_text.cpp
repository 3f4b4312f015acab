#include "base/time_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
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

std::string local_time(double seconds) {
  const auto milliseconds = static_cast<long long>(std::floor(seconds * 1000));
  const std::time_t whole = milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0);
  std::tm local{};
  if (::localtime_r(&whole, &local) == nullptr) return "-";
  char day[64];
  char zone[16];
  const std::size_t day_length = std::strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &local);
  const std::size_t zone_length = std::strftime(zone, sizeof zone, "%z", &local);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03lld ", milliseconds - whole * 1000LL);
  return std::string(day, day_length).append(fraction).append(zone, zone_length);
}

std::string time_text(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[48];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%09dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string time_text(double seconds) {
  if (!(seconds > 0)) return "";
  return time_text(std::chrono::sys_time<std::chrono::nanoseconds>(
      std::chrono::nanoseconds(std::llround(seconds * 1e9))));
}

std::string span_text(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 9.95) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f s", seconds);
    return text;
  }
  constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {" d", 86'400}, {" h", 3600}, {" min", 60}, {" s", 1}};
  const std::int64_t whole = std::llround(seconds);
  const auto* const unit =
      std::ranges::find_if(kUnits, [whole](const auto& each) { return whole >= each.second; });
  std::string text = std::to_string(whole / unit->second) + unit->first;
  const std::int64_t left = whole % unit->second;
  if (left > 0 && left >= unit[1].second)
    text += ' ' + std::to_string(left / unit[1].second) + unit[1].first;
  return text;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ioc_exporter
