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
  const auto span = parse_duration(text);
  if (!span)
    return error_in_words(
        shown(text) +
        " is neither a duration such as 10m, nor today or yesterday, nor a time in seconds since "
        "1970");
  return Since(std::chrono::time_point_cast<Nanoseconds>(now) - *span);
}

Result<std::size_t> parse_limit(const std::string& text) {
  const auto limit = parse_whole_number(text, 1, UINT32_MAX);
  if (!limit) return limit.error();
  return static_cast<std::size_t>(*limit);
}

}  // namespace ioc_exporter::delivery
