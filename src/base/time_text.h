// Times of day and spans of time, for people.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace ioc_exporter {

// Durations as Prometheus writes them in flags: "250ms", "5s", "1m30s", "2h", "7d", or a plain
// number of seconds ("0.5").

// The error names the text. Negative and absurdly long ones (over 10 years) are refused.
Result<std::chrono::milliseconds> parse_duration(const std::string& text);

// The shortest way to write it that parse_duration() reads: "5m", "1m30s", "500ms".
std::string duration_text(std::chrono::milliseconds duration);

// "2026-11-21 09:07:16.123 +0100": this host's local time, cut to milliseconds. `seconds` since
// 1970.
std::string local_time(double seconds);

// "2026-11-21T08:07:16.123456789Z": RFC 3339, as all JSON has times. `seconds` since 1970; "" for a
// time that is not known (0).
std::string time_text(std::chrono::sys_time<std::chrono::nanoseconds> time);
std::string time_text(double seconds);

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 1 h"; negative spans as "0 s": two clocks may
// differ by a little.
std::string span_text(double seconds);

// Seconds since 1970, now.
double now_seconds();

}  // namespace ioc_exporter
