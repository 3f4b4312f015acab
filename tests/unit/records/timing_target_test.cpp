#include "records/timing/timing_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ioc_exporter::records {
namespace {

using Clock = TimingLevel::Clock;
using Do = TimingCycle::Do;
// Of what happens at each moment: its sum from 0 to a time in seconds.
using Sum = std::function<double(double)>;

constexpr double kTarget = 0.01;
constexpr double kEntry = 1e-6, kEnd = 2e-6;  // seconds a call

std::function<double()> lots() {
  return [engine = std::mt19937_64(23)]() mutable {
    return std::uniform_real_distribution<>(0, 1)(engine);
  };
}

Clock::time_point at(double seconds) {
  return Clock::time_point(std::chrono::hours(1)) +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_of(Clock::time_point time) {
  return std::chrono::duration<double>(time - at(0)).count();
}

Sum rate(double each_second) {
  return [=](double t) { return each_second * t; };
}

// `high` for the first `part` of each `period`, else `low`, a second.
Sum bursts(double period, double part, double high, double low) {
  return [=](double t) {
    const double whole = std::floor(t / period), rest = t - whole * period;
    return whole * (part * high + (period - part) * low) + std::min(rest, part) * high +
           std::max(0.0, rest - part) * low;
  };
}

// An IOC whose calls are timed as the class says; ends stay on for `waits` after each window.
class Ioc {
 public:
  explicit Ioc(double target = kTarget) : level(target) { level.restart(at(0), {}); }

  void run(double seconds, const Sum& calls) {
    const double until = now_ + seconds, before = now_;
    const auto of = [&](double from, double to) {
      return calls(to - before) - calls(from - before);
    };
    while (now_ < until) {
      look();
      double next = std::min({until, std::floor(now_) + 1, std::max(now_ + 1e-6, due())});
      for (const double end : {timed_until_, timed_until_ + waits})
        if (end > now_) next = std::min(next, end);
      const double more = of(now_, next);
      const bool timed = level.level() == 1 || now_ < timed_until_;
      truth += more;
      if (timed) shown += more * level.level();
      cost_.counting += more * kEntry;
      if (timed || now_ < timed_until_ + waits) cost_.timing += more * kEnd;
      now_ = next;
    }
  }
  double timing() const { return cost_.timing; }

  TimingLevel level;
  bool wanted = false;
  double waits = 0, late = 0, truth = 0, shown = 0, longest_gap = 0;
  int changes = 0;

 private:
  void set(unsigned wish) {
    if (wish == level.level()) return;
    ++changes;
    level.set(wish, at(now_), cost_);
    timed_until_ = now_;
  }
  double due() const { return seconds_of(std::min(cycles_[0].due(), cycles_[1].due())) + late; }
  void look() {
    level.measure(at(now_), cost_);
    if (level.level() == 1 || wanted) set(level.choose(wanted));
    for (TimingCycle& cycle : cycles_)
      for (auto what = cycle.next(at(now_ - late)); what != Do::nothing;
           what = cycle.next(at(now_ - late)))
        if (level.level() ==
            TimingLevel::kLevels[1 + static_cast<std::size_t>(&cycle - &cycles_[0])])
          follow(what);
  }
  void follow(Do what) {
    if (what == Do::begin_window) {
      longest_gap = std::max(longest_gap, now_ - timed_until_);
      timed_until_ = now_ + 1;
    } else {
      level.end_cycle(at(now_), cost_);
      set(level.choose(wanted));
    }
  }

  std::array<TimingCycle, 2> cycles_{TimingCycle(16, lots()), TimingCycle(64, lots())};
  double now_ = 0, timed_until_ = 0;
  ProbeCost cost_;
};

TEST(TimingLevel, TimesAllBelowTheTargetWhateverCountingCosts) {
  Ioc ioc;
  ioc.run(30, rate(4'900));  // 0.98 %
  EXPECT_EQ(ioc.level.level(), 1u);
  EXPECT_EQ(ioc.shown, ioc.truth);
}

TEST(TimingLevel, TimesASecondIn16Or64AboveIt) {
  for (const auto& [calls, wanted] :
       {std::pair(5'100., 16u), {50'000., 16u}, {79'000., 16u}, {81'000., 64u}, {1e7, 64u}}) {
    Ioc ioc;
    ioc.run(2, rate(calls));
    EXPECT_EQ(ioc.level.level(), wanted) << calls;
    const double before = ioc.timing();
    ioc.run(6400, rate(calls));
    EXPECT_EQ(ioc.level.level(), wanted) << calls;
    EXPECT_NEAR((ioc.timing() - before) / (6400 * calls * kEnd), 1.0 / wanted, 0.002) << calls;
  }
}

TEST(TimingLevel, CallsThatOutlastTheirSecondCountAsCost) {
  Ioc ioc;
  ioc.waits = 3;
  ioc.run(64, rate(50'000));
  EXPECT_EQ(ioc.level.level(), 64u) << "4 seconds of 10 % in 16 are more than 1 %";
  ioc.waits = 0;
  ioc.run(64 * 3, rate(5'100));
  EXPECT_EQ(ioc.level.level(), 16u);
}

TEST(TimingLevel, DoesNotSwingWhereTheLoadIsNearTheTarget) {
  std::mt19937_64 engine(23);
  std::uniform_real_distribution<> some(4'000, 6'000);
  Ioc ioc;
  for (int second = 0; second < 1000; ++second) ioc.run(1, rate(some(engine)));
  EXPECT_EQ(ioc.level.level(), 16u);
  EXPECT_EQ(ioc.changes, 1);
}

TEST(TimingLevel, TimesAllWhileSomebodyWantsIt) {
  Ioc ioc;
  ioc.run(30, rate(20'000));
  ioc.wanted = true;
  ioc.run(2, rate(20'000));
  EXPECT_EQ(ioc.level.level(), 1u);
  ioc.wanted = false;
  ioc.run(2, rate(20'000));
  EXPECT_EQ(ioc.level.level(), 16u);
}

TEST(TimingLevel, TimesAllAgainWhenTheLoadIsGone) {
  for (const double load : {20'000., 200'000.}) {
    Ioc ioc;
    ioc.run(300, rate(load));
    ASSERT_GT(ioc.level.level(), 1u);
    ioc.run(130, rate(1'000));
    EXPECT_EQ(ioc.level.level(), 1u);
  }
}

TEST(TimingLevel, TimesAllWithoutATarget) {
  Ioc ioc(0);
  ioc.run(30, rate(1e6));
  EXPECT_EQ(ioc.level.level(), 1u);
}

// A record that processes once a second, too.
TEST(TimingLevel, EverySecondHasItsTurn) {
  Ioc ioc;
  ioc.run(100'000, rate(1e6));
  EXPECT_LT(ioc.longest_gap, 128);
}

// Scans that are always at the same phase, bursts, loads that are slow for a while or change the
// level, looks that come late: what timed calls add up to, with their weights, is the sum of all.
TEST(TimingLevel, SampledCallsStandForAll) {
  const Sum loads[] = {
      bursts(0.1, 0.005, 400'000, 0),   bursts(1, 0.1, 200'000, 2'000),
      bursts(37, 9, 70'000, 10'000),    bursts(16, 8, 100'000, 10'000),
      bursts(1'777, 777, 300'000, 100), bursts(4'003, 1'009, 700'000, 20'000),
  };
  for (const Sum& load : loads) {
    Ioc ioc;
    ioc.late = 0.3;
    ioc.run(1'600'000, load);  // 100,000 cycles of 16
    EXPECT_NEAR(ioc.shown / ioc.truth, 1, 0.03) << &load - loads;
  }
}

}  // namespace
}  // namespace ioc_exporter::records
