#include "records/timing/timing_target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace ioc_exporter::records {
namespace {

using Do = TimingTarget::Do;
using Clock = TimingTarget::Clock;

constexpr TimingCost kCost{1e-6, 2e-6};
constexpr TimingTarget::Limits kLimits{.target = 0.01, .budget = 0.05};

// An IOC that makes `rate` calls a second, and does what the class says. A call at each moment t
// takes `value(t)`; what is timed of them adds up with its weight.
class Ioc {
 public:
  explicit Ioc(const TimingTarget::Limits& limits, std::function<double()> random)
      : timing(limits, kCost, std::move(random)) {
    timing.restart(at(0), {}, true);
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

  void want(bool wanted) { timing.set_wanted(wanted, at(now)); }

  TimingTarget timing;
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
    const Do what = timing.look(
        at(now), {static_cast<std::uint64_t>(entries_), static_cast<std::uint64_t>(returns_)});
    ++done[what];
    if (what == Do::begin_window) {
      attached = true;
      weight_ = timing.one_in();
      until_ = now + std::chrono::duration<double>(timing.window()).count();
      timing.window_began(at(now));
    } else if (what == Do::time_all) {
      attached = true;
      weight_ = 1;
      until_ = INFINITY;
    } else if (what == Do::end_window || what == Do::end_window_anyhow) {
      until_ = std::min(until_, now);
      if (what == Do::end_window && calls_are_long) return;
      attached = false;
      timing.window_ended();
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

TEST(TimingTarget, TimesAllBelowTheTarget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 3'300);  // 0.99 %
  EXPECT_FALSE(ioc.timing.in_windows());
  EXPECT_EQ(ioc.shown, ioc.truth);
  EXPECT_EQ(ioc.timing.timed_share(), 1);
}

TEST(TimingTarget, TimesOneInNAboveTheTarget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 4'000);  // 0.4 % for entries and 0.8 % for ends: 0.4 of that are left
  EXPECT_EQ(ioc.timing.one_in(), 2u);
  EXPECT_EQ(ioc.timing.timed_share(), 0.5);
  ioc.run(60, 9'400);  // 0.06 are left of 1.88 %
  EXPECT_EQ(ioc.timing.one_in(), 32u);
  const double before = ioc.returns();
  ioc.run(900, 9'400);
  EXPECT_NEAR((ioc.returns() - before) / (900 * 9'400), 1.0 / 32, 0.002);
}

TEST(TimingTarget, ActsAtItsFirstLook) {
  Ioc ioc(kLimits, half);
  ioc.run(1, 50'000);
  EXPECT_TRUE(ioc.attached);
  ioc.run(0.01, 50'000);
  EXPECT_FALSE(ioc.attached);
  EXPECT_EQ(ioc.timing.timed_share(), 0);
}

TEST(TimingTarget, IsKeptWhereCountingAloneCostsLess) {
  for (const double rate : {3'400., 5'100., 9'800.}) {
    Ioc ioc(kLimits, half);
    ioc.run(30, rate);
    const double before = ioc.returns();
    ioc.run(500, rate);
    EXPECT_LT(rate * kCost.entry + (ioc.returns() - before) / 500 * kCost.end, 0.0101) << rate;
    EXPECT_GT(ioc.returns(), before) << rate;
  }
}

TEST(TimingTarget, DoesNotSwingWhereTheLoadIsNearTheTarget) {
  std::mt19937_64 engine(23);
  std::uniform_real_distribution<> rate(2'600, 4'000);  // a mean of 0.99 %
  Ioc ioc(kLimits, half);
  for (int second = 0; second < 1000; ++second) ioc.run(1, rate(engine));
  EXPECT_TRUE(ioc.timing.in_windows());
  EXPECT_EQ(ioc.done[Do::time_all], 0);
}

TEST(TimingTarget, TimesNoneWhereOneInAHundredIsTooMuch) {
  Ioc ioc(kLimits, half);
  ioc.run(60, 9'950);
  EXPECT_EQ(ioc.timing.one_in(), 0u);
  EXPECT_EQ(ioc.timing.timed_share(), 0);
  const double before = ioc.returns();
  ioc.run(100, 15'000);
  EXPECT_EQ(ioc.returns(), before);
  ioc.run(60, 3'900);
  EXPECT_EQ(ioc.timing.one_in(), 2u);
}

TEST(TimingTarget, TimesAllWhileSomebodyWantsItWithinTheBudget) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 5000);
  ASSERT_TRUE(ioc.timing.in_windows());
  ioc.want(true);
  ioc.run(4, 5000);  // a window that has begun ends first
  EXPECT_FALSE(ioc.timing.in_windows());
  ioc.run(30, 50'000);
  EXPECT_TRUE(ioc.timing.in_windows());
  ioc.run(60, 5000);
  EXPECT_FALSE(ioc.timing.in_windows());
  ioc.want(false);
  ioc.run(30, 5000);
  EXPECT_TRUE(ioc.timing.in_windows());
}

TEST(TimingTarget, TimesAllAgainWhenTheLoadIsGone) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 6'500);
  ioc.run(40, 1'000);
  EXPECT_FALSE(ioc.timing.in_windows());
  EXPECT_EQ(ioc.done[Do::time_all], 1);
  EXPECT_TRUE(ioc.attached);
  ioc.run(20, 3'000);  // still below the target
  EXPECT_FALSE(ioc.timing.in_windows());
}

TEST(TimingTarget, HasNoWindowsWithoutATargetOrABudget) {
  Ioc ioc({.target = 0, .budget = 0}, half);
  ioc.run(30, 100'000);
  EXPECT_FALSE(ioc.timing.in_windows());
}

// Scans that are always at the same phase, bursts, and calls that are slow for a while: the sum of
// the sum of timed calls, with their weights, is that of all calls.
TEST(TimingTarget, SampledCallsStandForAll) {
  const std::function<double(double)> loads[] = {
      [](double t) { return std::fmod(t, 0.1) < 0.005 ? 20.0 : 0.0; },
      [](double t) { return std::fmod(t, 1.0) < 0.1 ? 10.0 : 0.1; },
      [](double t) { return std::fmod(t, 37.0) < 9 ? 5.0 : 1.0; },
  };
  for (const auto& load : loads) {
    std::mt19937_64 engine(23);
    Ioc ioc(kLimits, [&] { return std::uniform_real_distribution<>(0, 1)(engine); });
    ioc.run(30, 6'500, load);
    const double shown = ioc.shown, truth = ioc.truth;
    ioc.run(4000, 6'500, load);
    EXPECT_NEAR((ioc.shown - shown) / (ioc.truth - truth), 1, 0.03);
    EXPECT_EQ(ioc.idle_returns, 0);
  }
}

TEST(TimingTarget, GivesUpOnCallsThatTakeLong) {
  Ioc ioc(kLimits, half);
  ioc.calls_are_long = true;
  ioc.run(60, 6'500);
  EXPECT_GT(ioc.done[Do::end_window_anyhow], 3);
  EXPECT_LT(ioc.idle_returns / ioc.truth, 0.45);
}

TEST(TimingTarget, ARestartKeepsTheChoice) {
  Ioc ioc(kLimits, half);
  ioc.run(30, 7'500);
  const auto later = Clock::time_point(std::chrono::hours(2));
  ioc.timing.restart(later, {1, 1}, true);
  EXPECT_EQ(ioc.timing.look(later, {1, 1}), Do::end_window);
  EXPECT_EQ(ioc.timing.one_in(), 6u);
}

// After the budget has let it be counted again no probe at an end is there.
TEST(TimingTarget, ARestartWithoutTheEndsTimesAllWhenThereIsRoom) {
  Ioc ioc(kLimits, half);
  ioc.timing.restart(Clock::time_point(std::chrono::hours(1)), {}, false);
  ioc.attached = false;
  ioc.run(1, 1'000);
  EXPECT_EQ(ioc.timing.one_in(), 1u);
  EXPECT_TRUE(ioc.attached);
}

}  // namespace
}  // namespace ioc_exporter::records
