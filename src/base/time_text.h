// Times of day and spans of time, for people.
#pragma once

#include <string>

namespace ioc_exporter {

// "2026-11-21 09:07:16.123 +0100": this host's local time, cut to milliseconds. `seconds` since
// 1970.
std::string local_time(double seconds);

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 1 h"; negative spans as "0 s": two clocks may
// differ by a little.
std::string span_text(double seconds);

// Seconds since 1970, now.
double now_seconds();

}  // namespace ioc_exporter
