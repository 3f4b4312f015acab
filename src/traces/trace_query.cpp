#include "traces/trace_query.h"

#include <utility>

#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "putlog/put_query.h"
#include "traces/causes.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::size_t kLongestTicket = 64;
constexpr double kLongestShort = 1e15;  // of "us" and "ns"

// "" where it is not there, or empty: the same.
std::string word_of(std::string_view query, const char* name) {
  return query_value(query, name).value_or("");
}

Result<TraceFilter> filter_of(std::string_view query) {
  TraceFilter filter;
  auto record = putlog::pattern_of(query, "record");
  if (!record) return std::move(record).error();
  auto ioc = putlog::pattern_of(query, "ioc");
  if (!ioc) return std::move(ioc).error();
  filter.record = std::move(*record);
  filter.ioc = std::move(*ioc);
  filter.cause = word_of(query, "cause");
  if (!filter.cause.empty() && !cause_number(filter.cause)) {
    std::string names;
    for (const std::string& name : cause_names()) names += (names.empty() ? "" : ", ") + name;
    return error_in_words("cause: " + shown(filter.cause) + " is none of " + names);
  }
  if (const std::string text = word_of(query, "slower"); !text.empty()) {
    const auto slower = parse_short_duration(text);
    if (!slower) return error_in_words("slower: " + slower.error().message());
    filter.slower = *slower;
  }
  return filter;
}

Result<std::optional<std::chrono::milliseconds>> lasts_of(std::string_view query) {
  using Lasts = std::optional<std::chrono::milliseconds>;
  const std::string text = word_of(query, "for");
  if (text.empty()) return Lasts();
  const auto lasts = parse_duration(text);
  if (!lasts) return error_in_words("for: " + lasts.error().message());
  if (*lasts <= std::chrono::milliseconds(0) || *lasts > kLongestDemand)
    return error_in_words("for: " + shown(text) + " is not from 1ms to " +
                          duration_text(kLongestDemand));
  return Lasts(*lasts);
}

// A word of the client's own, which joins following and a demand.
Result<std::string> ticket_of(std::string_view query) {
  std::string ticket = word_of(query, "demand");
  if (ticket.size() > kLongestTicket)
    return error_in_words("demand: more than " + std::to_string(kLongestTicket) + " characters");
  return ticket;
}

}  // namespace

Result<Duration> parse_short_duration(const std::string& text) {
  for (const auto& [unit, size] : {std::pair{"us", 1000.0}, {"ns", 1.0}})
    if (text.ends_with(unit)) {
      const auto number = parse_number(text.substr(0, text.size() - 2), 0, kLongestShort / size);
      if (!number) return number.error();
      return Duration(static_cast<std::int64_t>(*number * size));
    }
  const auto span = parse_duration(text);
  if (!span) return span.error();
  return Duration(*span);
}

Result<TraceQuery> parse_trace_query(std::string_view query,
                                     std::chrono::system_clock::time_point now) {
  TraceQuery asked;
  auto filter = filter_of(query);
  if (!filter) return std::move(filter).error();
  asked.filter = std::move(*filter);
  if (const auto word = query_value(query, "follow")) {
    const auto yes = putlog::parse_yes("follow", *word);
    if (!yes) return yes.error();
    asked.follow = *yes;
  }
  if (const std::string text = word_of(query, "since"); !text.empty()) {
    const auto since = putlog::parse_since(text, now);
    if (!since) return since.error();
    asked.since = *since;
  }
  if (const std::string text = word_of(query, "limit"); !text.empty()) {
    const auto limit = putlog::parse_limit(text);
    if (!limit) return limit.error();
    asked.limit = *limit;
  }
  const auto lasts = lasts_of(query);
  if (!lasts) return lasts.error();
  asked.lasts = *lasts;
  auto ticket = ticket_of(query);
  if (!ticket) return std::move(ticket).error();
  asked.ticket = std::move(*ticket);
  return asked;
}

Result<Demand> parse_demand(std::string_view query) {
  auto filter = filter_of(query);
  if (!filter) return std::move(filter).error();
  if (!filter->record)
    return error_in_words("which records? ask for ?record=REGEX, for the whole of a name");
  const auto lasts = lasts_of(query);
  if (!lasts) return lasts.error();
  auto ticket = ticket_of(query);
  if (!ticket) return std::move(ticket).error();
  Demand demand{.records = std::move(*filter->record),
                .ioc = std::move(filter->ioc),
                .slower = filter->slower,
                .cause = std::move(filter->cause),
                .ticket = std::move(*ticket)};
  if (*lasts) demand.lasts = **lasts;
  return demand;
}

}  // namespace ioc_exporter::traces
