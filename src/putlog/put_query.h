// Parameters of GET /api/v1/puts: ?since=&pv=&client=&user=&ioc=&unexpected=&limit=&follow=. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "putlog/filter.h"
#include "putlog/ring.h"

namespace ioc_exporter::putlog {

inline constexpr const char* kPutsPath = "/api/v1/puts";

struct PutQuery {
  EventFilter filter;
  Since since;                   // nothing: all in memory; to follow: from now on
  std::size_t limit = SIZE_MAX;  // the last ones
  bool follow = false;
};

// `since`: "10m", which is counted back from `now`, "today" or "yesterday" by local time, or
// seconds since 1970. The error names the word.
Result<PutQuery> parse_put_query(std::string_view query, std::chrono::system_clock::time_point now);

// A part of such a query, also of others: the pattern of that name; nothing: it is not there. The
// error names it: what whoever asks makes up must not take much memory, nor long to match.
Result<std::optional<Pattern>> pattern_of(std::string_view query, const char* name);
// `since` as above.
Result<Since> parse_since(const std::string& text, std::chrono::system_clock::time_point now);
Result<std::size_t> parse_limit(const std::string& text);

// Whether a word means yes: "", "1", "true"; no: "0", "false".
Result<bool> parse_yes(const std::string& name, const std::string& word);

}  // namespace ioc_exporter::putlog
