// Parameters of GET /api/v1/traces:
// ?record=&ioc=&cause=&slower=&since=&limit=&follow=&for=&demand=; and of POST:
// ?record=&ioc=&cause=&slower=&for=&demand=. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "delivery/ring.h"
#include "traces/demand.h"
#include "traces/filter.h"

namespace ioc_exporter::traces {

inline constexpr const char* kTracesPath = "/api/v1/traces";
// For how long one may ask for live traces, or follow them until a moment that one names.
inline constexpr std::chrono::minutes kLongestDemand{10};
// How much longer a stream goes on: for chains that are under way then.
inline constexpr std::chrono::seconds kGrace{1};

struct TraceQuery {
  TraceFilter filter;
  delivery::Since since;         // nothing: all in memory; to follow: from now on
  std::size_t limit = SIZE_MAX;  // the last ones
  bool follow = false;
  std::optional<std::chrono::milliseconds> lasts;  // of following; nothing: until either side ends
  std::string ticket;  // of the demands that end when following does; "" = none
};

// `since` as of puts. The error names the word.
Result<TraceQuery> parse_trace_query(std::string_view query,
                                     std::chrono::system_clock::time_point now);

// Records must be named: a demand for all records would have all calls of all IOCs timed.
Result<Demand> parse_demand(std::string_view query);

// "5ms", "250us", "800ns", and all that parse_duration() takes. The error names the text.
Result<Duration> parse_short_duration(const std::string& text);

}  // namespace ioc_exporter::traces
