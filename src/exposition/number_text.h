// Numbers as text 0.0.4 writes them, without a locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ioc_exporter::exposition {

// Holds every uint64 (20 characters) and every shortest double (24).
inline constexpr std::size_t kNumberRoom = 32;

// Writes to `to`, which has kNumberRoom, and returns the end. Of an integer: all digits, also
// above 2^53. Of a double: the shortest decimal that reads back as the same; NaN, +Inf, -Inf.
char* write_number(char* to, std::uint64_t value);
char* write_number(char* to, double value);

void append_number(std::string& out, std::uint64_t value);
void append_number(std::string& out, double value);

// Nanoseconds as seconds.
double seconds_from_ns(std::uint64_t ns);

}  // namespace ioc_exporter::exposition
