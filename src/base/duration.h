// Durations as Prometheus writes them in flags: "250ms", "5s", "1m30s", "2h", "7d", or a plain
// number of seconds ("0.5").
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace ioc_exporter {

// The error names the text. Negative and absurdly long ones (over 10 years) are refused.
Result<std::chrono::milliseconds> parse_duration(const std::string& text);

// The shortest way to write it that parse_duration() reads: "5m", "1m30s", "500ms".
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace ioc_exporter
