#include "records/timing_governor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

namespace ioc_exporter::records {
namespace {

using Do = TimingGovernor::Do;
using Clock = TimingGovernor::Clock;

constexpr HitCost kCost{1e-6, 2e-6};
constexpr TimingGovernor::Limits kLimits{.target = 0.01,
                                         .budget = 0.05,
                                         .choice = TimingChoice::by_windows,
                                         .most_rate = 0,
                                         .cycle = TimingGovernor::kCycle};

// An IOC that makes `rate` calls a second, and does what the governor says. A call at each moment t
// takes `value(t)`; what is timed of them adds up with its weight.
class Ioc {
 public:
  explicit Ioc(const TimingGovernor::Limits& limits, std::function<double()> random)
      : governor(limits, kCost, std::move(random)) {
    governor.restart(at(0), {});
  }

  void run(double seconds, double rate, const std::function<double(double)>& value = {}) {
    for (double end = now + seconds; now < end; now += kStep) {
      step_rate_ = rate;
      look();
      const double calls = rate * kStep, what = value ? value(now) : 1;
      entries_ += calls;
      truth += calls * what;
      if (now >= until_) {
        if (attached) idle_returns += calls;
      } else {
        shown += calls * what * weight_;
      }
      if (attached) returns_ += calls;
    }
  }

  void want(bool wanted) { governor.set_wanted(wanted, at(now)); }

  TimingGovernor governor;
  bool attached = true;
  double now = 0, truth = 0, shown = 0, idle_returns = 0;
  std::map<Do, int> done;
  double returns() const { return returns_; }

 private:
  static constexpr double kStep = 1e-3;

  static Clock::time_point at(double seconds) {
    return Clock::time_point(std::chrono::hours(1)) +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  void look() {
    const Do what = governor.look(
        at(now), {static_cast<std::uint64_t>(entries_), static_cast<std::uint64_t>(returns_)});
    ++done[what];
    if (what == Do::begin_window) {
      attached = true;
      weight_ = governor.one_in();
      until_ = now + std::chrono::duration<double>(governor.window()).count();
      governor.window_began(at(now));
    } else if (what == Do::time_all) {
      attached = true;
      weight_ = 1;
      until_ = INFINITY;
    } else if (what == Do::end_window || what == Do::end_window_anyhow) {
      until_ = std::min(until_, now);
      if (what == Do::end_window && calls_are_long) return;
      attached = false;
      governor.window_ended();
    }
  }

  double entries_ = 0, returns_ = 0, until_ = INFINITY, step_rate_ = 0;
  unsigned weight_ = 1;

 public:
  bool calls_are_long = false;
};

double half() {
  return 0.5;
}

TEST(TimingGovernor, TimesAllBelowTheTarget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 3'300);  // 0.99 %
  EXPECT_FALSE(ioc.governor.in_windows());
  EXPECT_EQ(ioc.shown, ioc.truth);
  EXPECT_EQ(ioc.governor.timed_share(), 1);
}

TEST(TimingGovernor, TimesOneInNAboveTheTarget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 5'000);  // 0.5 % for entries and 1 % for returns: half of those may be
  EXPECT_EQ(ioc.governor.one_in(), 2u);
  EXPECT_TRUE(ioc.attached || ioc.done[Do::end_window] > 0);
  EXPECT_EQ(ioc.governor.timed_share(), 0.5);
}

// A record that processes ten times a second is to be timed once.
TEST(TimingGovernor, TimesOneInTenAtLeastForTheTarget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 15'000);
  EXPECT_EQ(ioc.governor.one_in(), TimingGovernor::kMostForTarget);
  const double before = ioc.returns();
  ioc.run(100, 15'000);
  EXPECT_NEAR((ioc.returns() - before) / (100 * 15'000), 0.1, 0.01);
}

TEST(TimingGovernor, TimesStillLessForTheBudget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 48'000);  // 4.8 % for entries: 0.2 of 9.6 % are left
  EXPECT_EQ(ioc.governor.one_in(), 48u);
  ioc.run(60, 80'000);  // too much whatever is timed
  EXPECT_EQ(ioc.governor.one_in(), TimingGovernor::kMostForBudget);
}

TEST(TimingGovernor, TimesAllWhileSomebodyWantsItWithinTheBudget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 5000);
  ASSERT_TRUE(ioc.governor.in_windows());
  ioc.want(true);
  ioc.run(4, 5000);  // a window that has begun ends first
  EXPECT_FALSE(ioc.governor.in_windows());
  ioc.run(30, 50'000);
  EXPECT_TRUE(ioc.governor.in_windows());
  ioc.run(60, 5000);
  EXPECT_FALSE(ioc.governor.in_windows());
  ioc.want(false);
  ioc.run(30, 5000);
  EXPECT_TRUE(ioc.governor.in_windows());
}

TEST(TimingGovernor, TimesAllAgainWhenTheLoadIsGone) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 15'000);
  ioc.run(40, 1'000);
  EXPECT_FALSE(ioc.governor.in_windows());
  EXPECT_EQ(ioc.done[Do::time_all], 1);
  EXPECT_TRUE(ioc.attached);
  ioc.run(20, 3'000);  // still below the target
  EXPECT_FALSE(ioc.governor.in_windows());
}

TEST(TimingGovernor, HasNoWindowsWithoutATargetOrABudget) {
  Ioc ioc({.target = 0,
           .budget = 0,
           .choice = TimingChoice::by_windows,
           .most_rate = 0,
           .cycle = TimingGovernor::kCycle},
          half);
  ioc.run(30, 100'000);
  EXPECT_FALSE(ioc.governor.in_windows());
  Ioc untimed({.target = 0.01,
               .budget = 0,
               .choice = TimingChoice::all,
               .most_rate = 0,
               .cycle = TimingGovernor::kCycle},
              half);
  untimed.run(30, 100'000);
  EXPECT_FALSE(untimed.governor.in_windows());
}

// Scans that are always at the same phase, bursts, and calls that are slow for a while: the sum of
// what is timed, with its weights, is that of all calls.
TEST(TimingGovernor, WhatIsTimedStandsForAll) {
  const std::function<double(double)> loads[] = {
      [](double t) { return std::fmod(t, 0.1) < 0.005 ? 20.0 : 0.0; },
      [](double t) { return std::fmod(t, 1.0) < 0.1 ? 10.0 : 0.1; },
      [](double t) { return std::fmod(t, 37.0) < 9 ? 5.0 : 1.0; },
  };
  for (const auto& load : loads) {
    std::mt19937_64 engine(23);
    Ioc ioc(kLimits, [&] { return std::uniform_real_distribution<>(0, 1)(engine); });
    ioc.run(30, 15'000, load);
    const double shown = ioc.shown, truth = ioc.truth;
    ioc.run(4000, 15'000, load);
    EXPECT_NEAR((ioc.shown - shown) / (ioc.truth - truth), 1, 0.03);
    EXPECT_EQ(ioc.idle_returns, 0);
  }
}

TEST(TimingGovernor, GivesUpOnCallsThatTakeLong) {
  Ioc ioc(kLimits, half);
  ioc.calls_are_long = true;
  ioc.run(60, 15'000);
  EXPECT_GT(ioc.done[Do::end_window_anyhow], 3);
  EXPECT_LT(ioc.idle_returns / ioc.truth, 0.45);
}

TEST(TimingGovernor, ARestartKeepsTheChoice) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 15'000);
  const auto windows = ioc.done[Do::begin_window];
  ioc.governor.restart(Clock::time_point(std::chrono::hours(2)), {1, 1});
  EXPECT_EQ(ioc.governor.look(Clock::time_point(std::chrono::hours(2)), {1, 1}), Do::end_window);
  EXPECT_EQ(ioc.governor.one_in(), 10u);
  EXPECT_GT(windows, 3);
}

TEST(TimingGovernor, ByRateItFollowsTheTarget) {
  TimingGovernor governor({.target = 0.01,
                           .budget = 0.05,
                           .choice = TimingChoice::by_rate,
                           .most_rate = 100,
                           .cycle = TimingGovernor::kCycle},
                          kCost, half);
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.restart(now, {});
  ProbeHits hits;
  const auto seconds = [&](int count, double records) {
    for (int i = 0; i < count; ++i) {
      now += TimingGovernor::kLook;
      hits.entries += 5'000;  // of `records`
      hits.returns += static_cast<std::uint64_t>(
          std::min(5'000.0, records * static_cast<double>(governor.rate())));
      governor.look(now, hits);
    }
  };
  seconds(60, 200);  // 25 calls a second each; 0.5 % is left for returns: half of the calls
  EXPECT_NEAR(governor.rate(), 12, 1);
  seconds(60, 5'000);  // one each: no less
  EXPECT_EQ(governor.rate(), TimingGovernor::kLeastRate);
  EXPECT_NEAR(governor.timed_share(), 1, 0.01);
  seconds(60, 1);
  EXPECT_EQ(governor.rate(), 100u);
}

}  // namespace
}  // namespace ioc_exporter::records
