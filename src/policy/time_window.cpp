#include "policy/time_window.h"

#include <absl/time/time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/ascii.h"

namespace ioc_exporter::policy {
namespace {

constexpr int kDay = 24 * 60;
constexpr std::array<std::string_view, 7> kDays = {"monday", "tuesday",  "wednesday", "thursday",
                                                   "friday", "saturday", "sunday"};

std::optional<std::size_t> parse_day(std::string_view text) {
  std::string word(trimmed(text));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::ranges::find_if(
      kDays, [&word](std::string_view day) { return word.size() >= 3 && day.starts_with(word); });
  if (found == kDays.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kDays.begin());
}

bool has(Weekdays days, std::size_t day) {
  return (days >> day & 1U) != 0;
}

// "HH:MM", up to 24:00.
std::optional<int> parse_time(std::string_view text) {
  text = trimmed(text);
  const auto digit = [&text](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
    return std::nullopt;
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  const int time = hour * 60 + minute;
  if (minute > 59 || time > kDay) return std::nullopt;
  return time;
}

std::string time_text(int minutes) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%02d:%02d", minutes / 60, minutes % 60);
  return text.data();
}

std::string days_text(Weekdays days) {
  std::string text;
  for (std::size_t day = 0; day < kDays.size(); ++day) {
    if (!has(days, day)) continue;
    std::size_t last = day;
    while (last + 1 < kDays.size() && has(days, last + 1)) ++last;
    text.append(text.empty() ? "" : ",").append(kDays[day].substr(0, 3));
    if (last > day) text.append("-").append(kDays[last].substr(0, 3));
    day = last;
  }
  return text;
}

struct Shown {
  std::size_t day;  // 0: Monday
  int minute;       // of the day
};

Shown clock_at(absl::TimeZone zone, std::int64_t when) {
  const absl::CivilSecond civil = absl::ToCivilSecond(absl::FromUnixSeconds(when), zone);
  const auto weekday = absl::GetWeekday(civil);  // enumerators begin with monday
  return {static_cast<std::size_t>(weekday), civil.hour() * 60 + civil.minute()};
}

Result<absl::TimeZone> load_zone(const std::string& name) {
  if (name == "local") return absl::LocalTimeZone();
  if (name == "UTC") return absl::UTCTimeZone();
  const bool is_name = !name.empty() && name.front() != '/' &&
                       name.find("..") == std::string::npos && name.find(':') == std::string::npos;
  absl::TimeZone zone;
  if (!is_name || !absl::LoadTimeZone(name, &zone))
    return error_in_words("\"" + name +
                          "\" is no time zone that this host knows (local, UTC, or a name as in "
                          "/usr/share/zoneinfo of the package tzdata)");
  return zone;
}

}  // namespace

Result<Weekdays> parse_weekdays(const std::string& text) {
  unsigned days = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part(text.data() + at, comma - at);
    const std::size_t dash = part.find('-');
    const auto first = parse_day(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_day(part.substr(dash + 1));
    if (!first || !last)
      return error_in_words("\"" + text + "\" are no weekdays, such as mon-fri or sat,sun");
    for (std::size_t day = *first;; day = (day + 1) % kDays.size()) {
      days |= 1U << day;
      if (day == *last) break;
    }
    at = comma + 1;
  }
  return static_cast<Weekdays>(days);
}

Result<Hours> parse_hours(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string::npos) {
    const auto from = parse_time(std::string_view(text).substr(0, dash));
    const auto to = parse_time(std::string_view(text).substr(dash + 1));
    if (from && to && *from < kDay && *from != *to) return Hours{*from, *to};
  }
  return error_in_words("\"" + text +
                        "\" are no hours, such as 08:00-17:00, or 22:00-06:00 over midnight");
}

Result<TimeWindow> TimeWindow::create(Weekdays days, Hours hours, const std::string& zone) {
  auto loaded = load_zone(zone);
  if (!loaded) return std::move(loaded).error();
  TimeWindow window;
  window.days_ = days;
  window.hours_ = hours;
  window.zone_name_ = zone;
  window.zone_ = *loaded;
  return window;
}

bool TimeWindow::contains(std::int64_t when) const {
  const Shown now = clock_at(zone_, when);
  const std::size_t day_before = (now.day + kDays.size() - 1) % kDays.size();
  if (hours_.from < hours_.to)
    return has(days_, now.day) && now.minute >= hours_.from && now.minute < hours_.to;
  return (has(days_, now.day) && now.minute >= hours_.from) ||
         (has(days_, day_before) && now.minute < hours_.to);
}

std::string TimeWindow::text() const {
  return days_text(days_) + " " + time_text(hours_.from) + "-" + time_text(hours_.to) + " " +
         zone_name_;
}

std::string TimeWindow::shown(std::int64_t when) const {
  const Shown now = clock_at(zone_, when);
  return std::string(kDays[now.day].substr(0, 3)) + " " + time_text(now.minute);
}

Result<std::int64_t> parse_moment(const std::string& text) {
  std::string spaced = text;
  std::ranges::replace(spaced, 'T', ' ');
  for (const char* format :
       {"%Y-%m-%d %H:%M%Ez", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%Ez", "%Y-%m-%d %H:%M:%S"}) {
    absl::Time time;
    std::string problem;
    if (absl::ParseTime(format, spaced, absl::LocalTimeZone(), &time, &problem))
      return absl::ToUnixSeconds(time);
  }
  return error_in_words("\"" + text +
                        "\" is no time, such as \"2026-11-23 08:00\" or 2026-11-23T08:00:00Z");
}

}  // namespace ioc_exporter::policy
