#include "traces/trace_query.h"

#include <utility>

#include "base/time_text.h"
#include "base/value_text.h"
#include "delivery/query_reader.h"
#include "traces/causes.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::size_t kLongestTicket = 64;
constexpr double kLongestShort = 1e15;  // of "us" and "ns"

Result<std::string> parse_cause(const std::string& text) {
  if (cause_number(text)) return text;
  std::string names;
  for (const std::string& name : cause_names()) names += (names.empty() ? "" : ", ") + name;
  return error_in_words(shown(text) + " is none of " + names);
}

Result<std::chrono::milliseconds> parse_lasts(const std::string& text) {
  const auto lasts = parse_duration(text);
  if (lasts && (*lasts <= std::chrono::milliseconds(0) || *lasts > kLongestDemand))
    return error_in_words(shown(text) + " is not from 1ms to " + duration_text(kLongestDemand));
  return lasts;
}

Result<std::string> parse_ticket(const std::string& text) {
  if (text.size() <= kLongestTicket) return text;
  return error_in_words("more than " + std::to_string(kLongestTicket) + " characters");
}

// The part that a query and a demand share.
TraceQuery read_common(delivery::QueryReader& reader) {
  TraceQuery asked;
  reader.read("record", asked.filter.record, delivery::parse_pattern);
  reader.read("ioc", asked.filter.ioc, delivery::parse_pattern);
  reader.read("cause", asked.filter.cause, parse_cause);
  reader.read("slower", asked.filter.slower, parse_short_duration);
  reader.read("for", asked.lasts, parse_lasts);
  reader.read("demand", asked.ticket, parse_ticket);
  return asked;
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
  delivery::QueryReader reader(query);
  TraceQuery asked = read_common(reader);
  reader.read_yes("follow", asked.follow);
  reader.read("since", asked.since,
              [now](const std::string& text) { return delivery::parse_since(text, now); });
  reader.read("limit", asked.limit, delivery::parse_limit);
  if (!reader.result()) return reader.result().error();
  return asked;
}

Result<Demand> parse_demand(std::string_view query) {
  delivery::QueryReader reader(query);
  TraceQuery asked = read_common(reader);
  if (!reader.result()) return reader.result().error();
  if (!asked.filter.record)
    return error_in_words("no record is given: ask with ?record=REGEX, for the whole name");
  Demand demand{.records = std::move(*asked.filter.record),
                .ioc = std::move(asked.filter.ioc),
                .slower = asked.filter.slower,
                .cause = std::move(asked.filter.cause),
                .ticket = std::move(asked.ticket)};
  if (asked.lasts) demand.lasts = *asked.lasts;
  return demand;
}

}  // namespace ioc_exporter::traces
