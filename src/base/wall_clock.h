// WallClock: from the kernel's CLOCK_MONOTONIC to the time of day. A time namespace has a
// CLOCK_MONOTONIC and CLOCK_BOOTTIME of its own (time_namespaces(7)), which only what is here
// knows.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace ioc_exporter {

// Time of clock_gettime(2), in nanoseconds, as the kernel itself and the first time namespace have
// it. CLOCK_MONOTONIC is bpf_ktime_get_ns()'s clock.
std::uint64_t clock_ns(clockid_t clock);
// A time of this process as bpf_ktime_get_ns() had it then; 0: before the host's start.
std::uint64_t kernel_ns(std::chrono::steady_clock::time_point time);
// Offset of a namespace's clock ("monotonic", "boottime") in /proc/self/timens_offsets; 0: none.
std::int64_t offset_in(const std::string& timens_offsets, std::string_view clock);

class WallClock {
 public:
  // Both clocks at the same moment, as near as two calls come.
  struct Reading {
    std::int64_t monotonic_ns = 0;
    std::int64_t realtime_ns = 0;  // since 1970
  };
  static Reading read();

  // Takes note of how far the clocks are apart. Differences below a millisecond are the calls' own:
  // they are left alone, so that the time of one event does not change from scrape to scrape.
  void update(const Reading& now);

  // Seconds since 1970 of a moment, by the clock as it was set at the last update(); 0 for 0, which
  // stands for "not known".
  double seconds(std::uint64_t monotonic_ns) const;

 private:
  std::int64_t offset_ns_ = 0;
};

}  // namespace ioc_exporter
