// Numbers as text 0.0.4 writes them, without a locale.
#pragma once

#include <cstdint>
#include <string>

namespace ioc_exporter::metrics {

// All digits, also above 2^53.
void append_number(std::string& out, std::uint64_t value);

// The shortest decimal that reads back as the same double; NaN, +Inf, -Inf.
void append_number(std::string& out, double value);

// Nanoseconds as seconds.
double seconds_from_ns(std::uint64_t ns);

}  // namespace ioc_exporter::metrics
