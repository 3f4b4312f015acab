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

TEST(WallClock, ReadsTheHostsClocks) {
  const std::time_t before = std::time(nullptr);
  const WallClock::Reading reading = WallClock::read();
  EXPECT_GE(reading.realtime_ns / kSecond, before - 1);
  EXPECT_LE(reading.realtime_ns / kSecond, std::time(nullptr) + 1);
  EXPECT_LE(reading.monotonic_ns, WallClock::read().monotonic_ns);
}

}  // namespace
}  // namespace ioc_exporter
