#include "base/wall_clock.h"

#include <cstdlib>
#include <ctime>

namespace ioc_exporter {
namespace {

constexpr std::int64_t kNoise = 1'000'000;  // ns

std::int64_t nanoseconds(clockid_t clock) {
  return static_cast<std::int64_t>(clock_ns(clock));
}

}  // namespace

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
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
