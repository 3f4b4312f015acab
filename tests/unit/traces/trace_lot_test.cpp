// Which chains the rate chooses.
#include "shared/trace_lot.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

namespace ioc_exporter::traces {
namespace {

constexpr std::size_t kPvs = 10;
constexpr std::uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

struct Load {
  const char* name;
  std::uint64_t pause_ns;   // between rounds, in each of which each PV comes once
  std::uint64_t step_ns;    // between PVs of a round
  std::uint64_t jitter_ns;  // at most, before each round
  double rate;
};

// How often each PV is chosen in so many rounds. The numbers are the same in each run.
std::array<double, kPvs> chosen_of(const Load& load, int rounds) {
  std::mt19937 random(20591);  // NOLINT: on purpose
  iocx_trace_lot lot{};
  std::array<double, kPvs> chosen{};
  const auto interval = static_cast<std::uint64_t>(1e9 / load.rate);
  const auto at_once = static_cast<std::uint32_t>(std::ceil(load.rate));
  std::uint64_t now = 1000 * kSecond;
  for (int round = 0; round < rounds; ++round) {
    now += load.pause_ns + (load.jitter_ns > 0 ? random() % load.jitter_ns : 0);
    for (double& count : chosen) {
      count += iocx_trace_draw(&lot, interval, at_once, now, static_cast<std::uint32_t>(random()));
      now += load.step_ns;
    }
  }
  return chosen;
}

TEST(TraceLot, TenEqualPvsHaveTheSameChance) {
  for (const Load& load :
       {Load{"a burst a second", kSecond - kMs, 20'000, 2 * kMs, 1},
        Load{"to the second", kSecond - kPvs * 20'000, 20'000, 0, 1},
        Load{"ten bursts a second", 100 * kMs, 20'000, kMs, 1},
        Load{"a burst a minute", 60 * kSecond, 20'000, kMs, 1},
        Load{"one after the other", 0, 7 * kMs, 0, 1}, Load{"many", 0, 100'000, 50'000, 50},
        Load{"a slow rate", kSecond, 20'000, kMs, 0.1}}) {
    const auto chosen = chosen_of(load, 200'000);
    const double all = std::accumulate(chosen.begin(), chosen.end(), 0.0), each = all / kPvs;
    ASSERT_GT(all, 1000) << load.name;
    for (const double count : chosen) EXPECT_NEAR(count, each, 5 * std::sqrt(each)) << load.name;
  }
}

TEST(TraceLot, TheRateIsKept) {
  const Load load{"", 0, 3 * kMs, kMs, 7};
  constexpr int kRounds = 20'000;
  const auto chosen = chosen_of(load, kRounds);
  const double all = std::accumulate(chosen.begin(), chosen.end(), 0.0);
  EXPECT_NEAR(all, 7 * kRounds * (kPvs * 0.003 + 0.0005), 0.05 * all);
}

TEST(TraceLot, AllAreChosenThatTheRateAllows) {
  // A put a minute, whatever the lot says; and 50 a second at a rate of 100.
  iocx_trace_lot lot{};
  for (std::uint64_t i = 1; i < 100; ++i)
    EXPECT_EQ(iocx_trace_draw(&lot, kSecond, 1, i * 60 * kSecond, UINT32_MAX), 1);
  lot = {};
  for (std::uint64_t i = 1; i < 1000; ++i)
    EXPECT_EQ(iocx_trace_draw(&lot, 10 * kMs, 100, i * 20 * kMs, UINT32_MAX), 1);
}

}  // namespace
}  // namespace ioc_exporter::traces
