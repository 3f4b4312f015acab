#include "base/wall_clock.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

constexpr std::int64_t kNoise = 1'000'000;  // ns

std::int64_t nanoseconds(clockid_t clock) {
  return static_cast<std::int64_t>(clock_ns(clock));
}

struct Offsets {
  std::int64_t monotonic = 0, boottime = 0;
};

// They never change: this process is in its namespace from its start on.
const Offsets& offsets() {
  static const Offsets read = [] {
    const auto text = RootedFs().read("/proc/self/timens_offsets", 4096);
    return text ? Offsets{offset_in(*text, "monotonic"), offset_in(*text, "boottime")} : Offsets{};
  }();
  return read;
}

}  // namespace

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  const std::int64_t offset = clock == CLOCK_MONOTONIC  ? offsets().monotonic
                              : clock == CLOCK_BOOTTIME ? offsets().boottime
                                                        : 0;
  return static_cast<std::uint64_t>(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec -
                                    offset);
}

std::uint64_t kernel_ns(std::chrono::steady_clock::time_point time) {
  const auto here = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(here.count() - offsets().monotonic, 0));
}

// Lines like "monotonic     86400         0": seconds, rounded down, and nanoseconds.
std::int64_t offset_in(const std::string& timens_offsets, std::string_view clock) {
  std::istringstream words(timens_offsets);
  std::string name;
  std::int64_t seconds = 0, nanoseconds = 0;
  while (words >> name >> seconds >> nanoseconds)
    if (name == clock) return seconds * 1'000'000'000 + nanoseconds;
  return 0;
}

WallClock::Reading WallClock::read() {
  const std::int64_t monotonic = nanoseconds(CLOCK_MONOTONIC);
  return {monotonic, nanoseconds(CLOCK_REALTIME)};
}

void WallClock::update(const Reading& now) {
  const std::int64_t offset = now.realtime_ns - now.monotonic_ns;
  if (std::llabs(offset - offset_ns_) >= kNoise) offset_ns_ = offset;
}

double WallClock::seconds(std::uint64_t monotonic_ns) const {
  if (monotonic_ns == 0) return 0;
  return static_cast<double>(static_cast<std::int64_t>(monotonic_ns) + offset_ns_) / 1e9;
}

}  // namespace ioc_exporter
