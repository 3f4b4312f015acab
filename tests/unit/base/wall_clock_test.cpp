#include "base/wall_clock.h"

#include <gtest/gtest.h>

#include <ctime>

namespace ioc_exporter {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(WallClock, AddsHowFarTheClocksAreApart) {
  WallClock clock;
  clock.update({500 * kSecond, 1'790'000'000 * kSecond});
  EXPECT_EQ(clock.seconds(500 * kSecond), 1'790'000'000.0);
  EXPECT_EQ(clock.seconds(499 * kSecond + kSecond / 2), 1'789'999'999.5);
  EXPECT_EQ(clock.seconds(0), 0) << "not known";
}

TEST(WallClock, DoesNotFollowTheNoiseOfItsCalls) {
  WallClock clock;
  clock.update({500 * kSecond, 1'790'000'000 * kSecond});
  clock.update({510 * kSecond, 1'790'000'010 * kSecond + 999'999});
  EXPECT_EQ(clock.seconds(500 * kSecond), 1'790'000'000.0);
  clock.update({520 * kSecond, 1'790'000'021 * kSecond});  // somebody set the clock
  EXPECT_EQ(clock.seconds(500 * kSecond), 1'790'000'001.0);
}

// /proc/self/timens_offsets, as Linux 6.18 writes it.
TEST(WallClock, OffsetsOfATimeNamespace) {
  const std::string offsets = "monotonic      86400         7\nboottime         -11 999999999\n";
  EXPECT_EQ(offset_in(offsets, "monotonic"), 86400 * kSecond + 7);
  EXPECT_EQ(offset_in(offsets, "boottime"), -10 * kSecond - 1);
  EXPECT_EQ(offset_in("", "monotonic"), 0);
}

TEST(WallClock, ATimeOfThisProcessIsTheKernels) {
  const std::uint64_t before = clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t now = kernel_ns(std::chrono::steady_clock::now());
  EXPECT_LE(before, now);
  EXPECT_LE(now, clock_ns(CLOCK_MONOTONIC));
  EXPECT_EQ(kernel_ns({}), 0u) << "before the host's start";
}

TEST(WallClock, ReadsTheHostsClocks) {
  const std::time_t before = std::time(nullptr);
  const WallClock::Reading reading = WallClock::read();
  EXPECT_GE(reading.realtime_ns / kSecond, before - 1);
  EXPECT_LE(reading.realtime_ns / kSecond, std::time(nullptr) + 1);
  EXPECT_LE(reading.monotonic_ns, WallClock::read().monotonic_ns);
}

}  // namespace
}  // namespace ioc_exporter
