#include "policy/moment.h"

#include <absl/time/time.h>

#include <algorithm>

namespace ioc_exporter::policy {

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
