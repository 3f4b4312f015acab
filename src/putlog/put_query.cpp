#include "putlog/put_query.h"

#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kLongestPattern = 1000;
// Of what whoever asks makes up: there may be dozens of them at a time.
constexpr std::int64_t kPatternMemory = std::int64_t{256} << 10;
constexpr int kLargestPattern = 500;  // steps of its program
constexpr double kFarInTheFuture =
    9e9;  // seconds since 1970; nanoseconds of 64 bits end soon after
constexpr double kFirstTimeOfDay = 1e9;  // less is a span, more a time since 1970

}  // namespace

Result<std::optional<Pattern>> pattern_of(std::string_view query, const char* name) {
  const auto text = query_value(query, name);
  if (!text || text->empty()) return std::optional<Pattern>();
  if (text->size() > kLongestPattern)
    return error_in_words(std::string(name) + ": a pattern of more than 1000 characters");
  auto pattern = Pattern::compile(*text, kPatternMemory);
  if (!pattern) return error_in_words(std::string(name) + ": " + pattern.error().message());
  if (pattern->size() > kLargestPattern)
    return error_in_words(std::string(name) + ": a pattern that would take too long to match");
  return std::optional(std::move(*pattern));
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
        "since: " + shown(text) +
        " is neither a duration such as 10m, nor today or yesterday, nor a time in seconds since "
        "1970");
  return Since(std::chrono::time_point_cast<Nanoseconds>(now) - *span);
}

Result<std::size_t> parse_limit(const std::string& text) {
  const auto limit = parse_whole_number(text, 1, UINT32_MAX);
  if (!limit) return error_in_words("limit: " + limit.error().message());
  return static_cast<std::size_t>(*limit);
}

Result<bool> parse_yes(const std::string& name, const std::string& word) {
  if (word.empty() || word == "1" || word == "true") return true;
  if (word == "0" || word == "false") return false;
  return error_in_words(name + ": " + shown(word) + " is neither 1 nor 0");
}

Result<PutQuery> parse_put_query(std::string_view query,
                                 std::chrono::system_clock::time_point now) {
  PutQuery asked;
  for (const auto& [name, filter] : {std::pair{"pv", &asked.filter.pv},
                                     {"client", &asked.filter.client},
                                     {"user", &asked.filter.user},
                                     {"ioc", &asked.filter.ioc}}) {
    auto pattern = pattern_of(query, name);
    if (!pattern) return std::move(pattern).error();
    filter->include = std::move(*pattern);
  }
  for (const auto& [name, flag] :
       {std::pair{"unexpected", &asked.filter.unexpected}, {"follow", &asked.follow}})
    if (const auto word = query_value(query, name)) {
      const auto yes = parse_yes(name, *word);
      if (!yes) return yes.error();
      *flag = *yes;
    }
  if (const auto text = query_value(query, "since"); text && !text->empty()) {
    auto since = parse_since(*text, now);
    if (!since) return std::move(since).error();
    asked.since = *since;
  }
  if (const auto text = query_value(query, "limit"); text && !text->empty()) {
    const auto limit = parse_limit(*text);
    if (!limit) return limit.error();
    asked.limit = *limit;
  }
  return asked;
}

}  // namespace ioc_exporter::putlog
