#include "delivery/query_reader.h"

#include <cmath>
#include <cstdint>
#include <ctime>

#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::size_t kLongestPattern = 1000;
// Of what whoever asks makes up: there may be dozens of them at a time.
constexpr std::int64_t kPatternMemory = std::int64_t{256} << 10;
constexpr int kLargestPattern = 500;  // steps of its program
constexpr double kFarInTheFuture =
    9e9;  // seconds since 1970; nanoseconds of 64 bits end soon after
constexpr double kFirstTimeOfDay = 1e9;  // less is a span, more a time since 1970

// Takes `digits` digits off the front, after `before`.
bool take(std::string_view& text, std::string_view before, std::size_t digits, int& into) {
  const std::string_view number = text.substr(std::min(before.size(), text.size()), digits);
  const bool is_there = text.starts_with(before) && number.size() == digits &&
                        number.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_there) return false;
  into = 0;
  for (const char digit : number) into = 10 * into + (digit - '0');
  text.remove_prefix(before.size() + digits);
  return true;
}

// Nanoseconds of ".123", or of nothing.
std::int64_t take_fraction(std::string_view& text) {
  std::int64_t fraction = 0, unit = 1'000'000'000;
  if (!text.starts_with('.')) return 0;
  text.remove_prefix(1);
  for (int digit = 0; take(text, "", 1, digit);) {
    unit /= 10;
    fraction += digit * unit;
  }
  return fraction;
}

// Seconds east of UTC, of "Z", "+0100", "+01:00"; nothing of "".
std::optional<int> take_zone(std::string_view& text) {
  int hours = 0, minutes = 0;
  if (text == "Z" || text == "z") {
    text = {};
    return 0;
  }
  const std::string_view sign = text.substr(0, 1);
  if ((sign != "+" && sign != "-") || !take(text, sign, 2, hours) ||
      (!take(text, ":", 2, minutes) && !take(text, "", 2, minutes)))
    return std::nullopt;
  return (hours * 60 + minutes) * (sign == "-" ? -60 : 60);
}

// Times as this program prints them, and those of RFC 3339; local ones without a zone. Without a
// year or a day, the last one that is not to come.
Since parse_time(std::string_view text, std::chrono::system_clock::time_point now) {
  using Nanoseconds = std::chrono::nanoseconds;
  const std::time_t now_seconds = std::chrono::system_clock::to_time_t(now);
  std::tm today{};
  ::localtime_r(&now_seconds, &today);
  int year = today.tm_year + 1900, month = today.tm_mon + 1, day = today.tm_mday;
  const std::string_view whole = text;
  const bool has_year =
      take(text, "", 4, year) && take(text, "-", 2, month) && take(text, "-", 2, day);
  if (!has_year) {
    text = whole;
    year = today.tm_year + 1900;
  }
  const bool has_day = has_year || (take(text, "", 2, month) && take(text, "-", 2, day));
  if (!has_day) {
    text = whole;
    month = today.tm_mon + 1;
  }
  if (has_day && !text.empty() && std::string_view("Tt ").find(text[0]) != std::string_view::npos)
    text.remove_prefix(1);
  else if (has_day && !text.empty())
    return std::nullopt;
  std::tm time{};
  if (!text.empty() || !has_day) {
    if (!take(text, "", 2, time.tm_hour) || !take(text, ":", 2, time.tm_min)) return std::nullopt;
    take(text, ":", 2, time.tm_sec);
  }
  const std::int64_t fraction = take_fraction(text);
  if (text.starts_with(' ')) text.remove_prefix(1);
  const std::optional<int> zone = take_zone(text);
  constexpr int kLeapYear = 2000;
  const std::chrono::year_month_day date(std::chrono::year(has_year ? year : kLeapYear),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!text.empty() || time.tm_hour > 23 || time.tm_min > 59 || time.tm_sec > 60 || year < 1970 ||
      !date.ok())
    return std::nullopt;
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  const auto seconds_of = [&zone](std::tm one) {
    one.tm_isdst = -1;
    return zone ? ::timegm(&one) - *zone : std::mktime(&one);
  };
  std::time_t seconds = seconds_of(time);
  if (!has_year && seconds > now_seconds) {
    --(has_day ? time.tm_year : time.tm_mday);
    seconds = seconds_of(time);
  }
  return std::chrono::sys_time<Nanoseconds>(std::chrono::seconds(seconds) + Nanoseconds(fraction));
}

}  // namespace

void QueryReader::read_yes(const char* name, bool& into) {
  const auto word = query_value(query_, name);
  if (!word || !result_) return;
  into = word->empty() || *word == "1" || *word == "true";
  if (!into && *word != "0" && *word != "false")
    result_ = error_in_words(std::string(name) + ": " + shown(*word) + " is neither 1 nor 0");
}

Result<Pattern> parse_pattern(const std::string& text) {
  if (text.size() > kLongestPattern)
    return error_in_words("a pattern of more than 1000 characters");
  auto pattern = Pattern::compile(text, kPatternMemory);
  if (pattern && pattern->size() > kLargestPattern)
    return error_in_words("a pattern that would take too long to match");
  return pattern;
}

Result<Since> parse_since(const std::string& text, std::chrono::system_clock::time_point now) {
  using Nanoseconds = std::chrono::nanoseconds;
  if (const auto time = parse_number(text, kFirstTimeOfDay, kFarInTheFuture)) {
    const double whole = std::floor(*time);
    return Since(std::chrono::sys_time<Nanoseconds>(
        std::chrono::seconds(static_cast<std::int64_t>(whole)) +
        Nanoseconds(static_cast<std::int64_t>((*time - whole) * 1e9))));
  }
  if (text == "today" || text == "yesterday") {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    local.tm_sec = local.tm_min = local.tm_hour = 0;
    local.tm_mday -= text == "today" ? 0 : 1;
    local.tm_isdst = -1;
    return Since(std::chrono::sys_seconds(std::chrono::seconds(std::mktime(&local))));
  }
  if (const auto time = parse_time(text, now)) return time;
  const auto span = parse_duration(text);
  if (!span)
    return error_in_words(
        shown(text) +
        " is neither a duration such as 10m, nor today or yesterday, nor a time such as 09:07:16, "
        "11-21 09:07 or 2026-11-21T09:07:16Z, nor one in seconds since 1970");
  return Since(std::chrono::time_point_cast<Nanoseconds>(now) - *span);
}

Result<std::size_t> parse_limit(const std::string& text) {
  const auto limit = parse_whole_number(text, 1, UINT32_MAX);
  if (!limit) return limit.error();
  return static_cast<std::size_t>(*limit);
}

}  // namespace ioc_exporter::delivery
