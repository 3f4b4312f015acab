#include "records/overhead_governor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

namespace ioc_exporter::records {
namespace {

using std::chrono::milliseconds;
using Step = OverheadGovernor::Step;
using Clock = OverheadGovernor::Clock;

constexpr records::HitCost kCost{1e-6, 2e-6};
constexpr double kBudget = 0.05;

bool nothing(const Step& step) {
  return !step.slice_ends && !step.cycle_ends && !step.cycle_begins && !step.slice_begins;
}

// An IOC with a load that the test sets, looked at whenever it is due.
class Loaded {
 public:
  explicit Loaded(
      double budget, std::function<double()> random = [] { return 0.5; })
      : governor(budget, kCost, std::move(random)) {
    EXPECT_TRUE(nothing(governor.look(now_, hits_)));
  }

  // One look; `rate`: calls a second until then, all timed.
  Step next(double rate) {
    const double seconds = std::chrono::duration<double>(governor.due() - now_).count();
    total_seconds_ += seconds;
    if (governor.wants_probes()) {
      attached_seconds_ += seconds;
      calls_ += rate * seconds;
      all_calls_ += rate * seconds;
      hits_.entries = hits_.returns = static_cast<std::uint64_t>(all_calls_);
    }
    now_ = governor.due();
    return governor.look(now_, hits_);
  }
  // Up to the end of a cycle.
  void cycle(double rate) {
    while (!next(rate).cycle_ends) {
    }
  }
  double attached_share() const { return attached_seconds_ / total_seconds_; }
  double cost_share() const { return calls_ * 3e-6 / total_seconds_; }
  double seconds() const { return total_seconds_; }
  void forget_times() { calls_ = total_seconds_ = attached_seconds_ = 0; }

  OverheadGovernor governor;

 private:
  Clock::time_point now_ = Clock::time_point(std::chrono::hours(1));
  records::ProbeHits hits_;
  double all_calls_ = 0;
  double calls_ = 0, total_seconds_ = 0, attached_seconds_ = 0;  // since forget_times()
};

TEST(OverheadGovernor, LeavesAnIocBelowTheBudgetAlone) {
  Loaded ioc(kBudget);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(nothing(ioc.next(16'000)));
  EXPECT_NEAR(ioc.governor.overhead(), 0.048, 1e-6);
  EXPECT_EQ(ioc.governor.attached_share(), 1);
  EXPECT_FALSE(ioc.governor.in_slices());
}

TEST(OverheadGovernor, HasNoBoundWithoutABudget) {
  Loaded ioc(0);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(nothing(ioc.next(1'000'000)));
  EXPECT_NEAR(ioc.governor.overhead(), 3.0, 1e-5);
}

TEST(OverheadGovernor, CountsEntriesAndReturnsApart) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {100, 50});
  governor.look(now + OverheadGovernor::kLook, {10'100, 2'050});
  EXPECT_NEAR(governor.overhead(), 10'000e-6 + 2'000 * 2e-6, 1e-9);
}

// What stays attached in pauses is seen, and is none of what the next slice costs.
TEST(OverheadGovernor, TellsWhatPausesCost) {
  double overheads[2], shares[2];
  for (const std::uint64_t in_pause : {0u, 40'000u}) {
    // The slice is the last slot of its cycle.
    OverheadGovernor governor(kBudget, kCost, [] { return 0.99; });
    auto now = Clock::time_point(std::chrono::hours(1));
    ProbeHits hits;
    const auto next = [&](std::uint64_t more) {
      hits.entries += more;
      now = governor.due();
      return governor.look(now, hits);
    };
    governor.look(now, hits);
    const auto began = next(600'000);
    EXPECT_TRUE(began.cycle_begins);
    EXPECT_FALSE(began.slice_begins);
    EXPECT_EQ(governor.pause_load(), 0);
    const double seconds = std::chrono::duration<double>(governor.due() - now).count();
    EXPECT_TRUE(next(in_pause).slice_begins);
    EXPECT_NEAR(governor.pause_load(), static_cast<double>(in_pause) * 1e-6 / seconds, 1e-9);
    governor.attached(now);
    EXPECT_TRUE(next(100'000).slice_ends);
    overheads[in_pause > 0] = governor.overhead();
    shares[in_pause > 0] = governor.attached_share();
  }
  EXPECT_LT(overheads[0], overheads[1]);
  EXPECT_EQ(shares[0], shares[1]) << "the pause's hits are none of the slice's";
}

TEST(OverheadGovernor, SlicesABusyIocDownToTheBudget) {
  Loaded ioc(kBudget);
  const double rate = 199'000;  // 0.597 of a core: 12 times the budget
  const Step first = ioc.next(rate);
  EXPECT_TRUE(first.cycle_begins && !first.cycle_ends);
  EXPECT_TRUE(ioc.governor.in_slices());
  ioc.forget_times();
  for (int i = 0; i < 23; ++i) {
    ioc.cycle(rate);
    EXPECT_NEAR(ioc.governor.overhead(), 0.597 / 12, 1e-4);
    EXPECT_NEAR(ioc.governor.attached_share(), 1.0 / 12, 1e-6);
  }
  EXPECT_NEAR(ioc.attached_share(), 1.0 / 12, 1e-6);
  EXPECT_LE(ioc.cost_share(), kBudget);
}

TEST(OverheadGovernor, SlicesAreNeverTooShortToSeeSomething) {
  Loaded ioc(0.001, [] { return 0.0; });
  EXPECT_TRUE(ioc.next(1'000'000).slice_begins);
  ioc.forget_times();
  EXPECT_TRUE(ioc.next(1'000'000).slice_ends);
  EXPECT_GE(ioc.seconds(), 0.149);
  EXPECT_TRUE(ioc.next(0).cycle_ends);
  EXPECT_NEAR(ioc.attached_share(), 0.001 / 3, 1e-5);  // the budget holds all the same
}

// Whatever happens in a slice must not decide which slot it is, nor how long its cycle.
TEST(OverheadGovernor, ACycleIsFixedBeforeItsSlice) {
  for (const double in_slice : {0.0, 400'000.0}) {
    double sequence = 0;
    Loaded ioc(kBudget, [&] { return sequence = sequence < 0.9 ? sequence + 0.17 : 0; });
    ioc.next(199'000);
    const double planned = ioc.governor.cycle_seconds();
    ioc.forget_times();
    ioc.cycle(in_slice);
    EXPECT_NEAR(ioc.seconds(), planned, 1e-6);
    EXPECT_NEAR(ioc.attached_share(), 1.0 / 12, 1e-6);
  }
}

TEST(OverheadGovernor, AnySlotMayBeTheSlice) {
  std::mt19937 random(1);
  Loaded ioc(kBudget, [&] { return std::uniform_real_distribution<>(0, 1)(random); });
  ioc.next(199'000);
  std::map<int, int> slots;
  std::set<double> lengths;
  ioc.cycle(199'000);
  for (int i = 0; i < 2'400; ++i) {
    const double length = ioc.governor.cycle_seconds() / 12;
    ioc.forget_times();
    Step step;
    double began = ioc.governor.wants_probes() ? 0 : -1;
    do {
      step = ioc.next(199'000);
      if (step.slice_begins && !step.cycle_ends) began = ioc.seconds();
    } while (!step.cycle_ends);
    ++slots[static_cast<int>(std::lround(began / length))];
    lengths.insert(length);
  }
  ASSERT_EQ(slots.size(), 12u);
  for (const auto& [slot, times] : slots) {
    EXPECT_GE(slot, 0);
    EXPECT_NEAR(times, 200, 70) << slot;
  }
  EXPECT_GT(lengths.size(), 2'000u);
}

TEST(OverheadGovernor, ASliceThatBeginsLateIsLongEnough) {
  Loaded ioc(kBudget, [] { return 0.0; });
  EXPECT_TRUE(ioc.next(199'000).slice_begins);
  const auto planned = ioc.governor.due();
  ioc.governor.attached(planned - milliseconds(1));
  EXPECT_GE(ioc.governor.due() - planned, milliseconds(70));
}

TEST(OverheadGovernor, GoesBackAfterCalmSlicesOnly) {
  Loaded ioc(kBudget);
  EXPECT_TRUE(ioc.next(20'000).cycle_begins);  // 0.06
  for (int i = 0; i < 40 && ioc.governor.in_slices(); ++i) ioc.next(15'000);
  EXPECT_TRUE(ioc.governor.in_slices()) << "0.045 is below the budget, and not well below it";
  EXPECT_EQ(ioc.governor.attached_share(), 1);
  unsigned slices = 0;
  Step last;
  while (ioc.governor.in_slices()) {
    ASSERT_LT(++slices, 40u);
    last = ioc.next(10'000);
  }
  EXPECT_TRUE(last.cycle_ends && !last.cycle_begins);
  EXPECT_GE(slices, OverheadGovernor::kCalmSlices);
  EXPECT_TRUE(nothing(ioc.next(10'000)));
  EXPECT_NEAR(ioc.governor.overhead(), 0.03, 1e-4);
}

TEST(OverheadGovernor, RisingLoadIsBoundWithinFewSlices) {
  Loaded ioc(kBudget);
  EXPECT_TRUE(ioc.next(20'000).cycle_begins);
  for (int i = 0; i < 20; ++i) ioc.cycle(400'000);
  ioc.forget_times();
  for (int i = 0; i < 24; ++i) ioc.cycle(400'000);
  EXPECT_NEAR(ioc.cost_share(), kBudget, 0.003);
}

TEST(OverheadGovernor, RestartForgetsWhatWasBefore) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {});
  now += OverheadGovernor::kLook;
  EXPECT_TRUE(governor.look(now, {100'000, 100'000}).cycle_begins);
  governor.restart(now, {100'000, 100'000});
  EXPECT_FALSE(governor.in_slices());
  EXPECT_TRUE(nothing(governor.look(now + milliseconds(999), {900'000, 900'000})));
  EXPECT_TRUE(nothing(governor.look(now + milliseconds(1000), {100'001, 100'001})));
}

TEST(OverheadGovernor, CountsThatBeginAnewAreNoLoad) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {1'000'000, 1'000'000});
  EXPECT_TRUE(nothing(governor.look(now + OverheadGovernor::kLook, {10, 10})));
  EXPECT_EQ(governor.overhead(), 0);
}

}  // namespace
}  // namespace ioc_exporter::records
