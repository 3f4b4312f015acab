#include "base/time_text.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace ioc_exporter {

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

std::string span_text(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 9.95) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f s", seconds);
    return text;
  }
  const auto whole = std::llround(seconds);
  const auto text = [](long long value, const char* unit) {
    return value == 0 ? std::string() : std::to_string(value) + unit;
  };
  const auto two = [](const std::string& first, const std::string& second) {
    return second.empty() ? first : first + " " + second;
  };
  if (whole < 60) return text(whole, " s");
  if (whole < 3600) return two(text(whole / 60, " min"), text(whole % 60, " s"));
  if (whole < 86400) return two(text(whole / 3600, " h"), text(whole % 3600 / 60, " min"));
  return two(text(whole / 86400, " d"), text(whole % 86400 / 3600, " h"));
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ioc_exporter
