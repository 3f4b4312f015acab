// Parameters of GET /api/v1/puts:
// ?since=&until=&pv=&client=&user=&ioc=&unexpected=&inside=&limit=&follow=. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "putlog/filter.h"
#include "putlog/ring.h"

namespace ioc_exporter::putlog {

inline constexpr const char* kPutsPath = "/api/v1/puts";
// Key of the first line of an answer that does not reach back to `since`: the time of its begin.
inline constexpr const char* kReach = "reaches_back_to";

struct PutQuery {
  EventFilter filter;
  Since since;                   // nothing: all in memory; to follow: from now on
  Since until;                   // nothing after then
  std::size_t limit = SIZE_MAX;  // the last ones
  bool follow = false;
};

// The error names the word.
Result<PutQuery> parse_put_query(std::string_view query, std::chrono::system_clock::time_point now);

}  // namespace ioc_exporter::putlog
