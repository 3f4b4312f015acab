#include "records/overhead_governor.h"

#include <gtest/gtest.h>

#include <vector>

namespace ioc_exporter::records {
namespace {

using std::chrono::milliseconds;
using Action = OverheadGovernor::Action;
using Clock = OverheadGovernor::Clock;

constexpr records::HitCost kCost{1e-6, 2e-6};
constexpr double kBudget = 0.05;

// An IOC with a load that the test sets, looked at whenever it is due.
class Loaded {
 public:
  explicit Loaded(
      double budget, std::function<double()> random = [] { return 0.5; })
      : governor(budget, kCost, std::move(random)) {
    EXPECT_EQ(governor.look(now_, hits_), Action::none);
  }

  // One look; `rate`: calls a second until then, all timed.
  Action next(double rate) {
    const double seconds = std::chrono::duration<double>(governor.due() - now_).count();
    total_seconds_ += seconds;
    if (attached_) {
      attached_seconds_ += seconds;
      calls_ += rate * seconds;
      all_calls_ += rate * seconds;
      hits_.entries = hits_.returns = static_cast<std::uint64_t>(all_calls_);
    }
    now_ = governor.due();
    const Action action = governor.look(now_, hits_);
    if (action == Action::pause) attached_ = false;
    if (action == Action::resume) attached_ = true;
    return action;
  }
  double attached_share() const { return attached_seconds_ / total_seconds_; }
  double cost_share() const { return calls_ * 3e-6 / total_seconds_; }
  void forget_times() { calls_ = total_seconds_ = attached_seconds_ = 0; }

  OverheadGovernor governor;

 private:
  Clock::time_point now_ = Clock::time_point(std::chrono::hours(1));
  records::ProbeHits hits_;
  bool attached_ = true;
  double all_calls_ = 0;
  double calls_ = 0, total_seconds_ = 0, attached_seconds_ = 0;  // since forget_times()
};

TEST(OverheadGovernor, LeavesAnIocBelowTheBudgetAlone) {
  Loaded ioc(kBudget);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ioc.next(16'000), Action::none);
  EXPECT_NEAR(ioc.governor.overhead(), 0.048, 1e-6);
  EXPECT_EQ(ioc.governor.attached_share(), 1);
  EXPECT_FALSE(ioc.governor.in_slices());
}

TEST(OverheadGovernor, HasNoBoundWithoutABudget) {
  Loaded ioc(0);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ioc.next(1'000'000), Action::none);
  EXPECT_NEAR(ioc.governor.overhead(), 3.0, 1e-5);
}

TEST(OverheadGovernor, CountsEntriesAndReturnsApart) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {100, 50});
  governor.look(now + OverheadGovernor::kLook, {10'100, 2'050});
  EXPECT_NEAR(governor.overhead(), 10'000e-6 + 2'000 * 2e-6, 1e-9);
}

TEST(OverheadGovernor, SlicesABusyIocDownToTheBudget) {
  Loaded ioc(kBudget);
  const double rate = 200'000;  // 0.6 of a core: 12 times the budget
  EXPECT_EQ(ioc.next(rate), Action::begin_slices);
  EXPECT_TRUE(ioc.governor.in_slices());
  ioc.forget_times();
  for (int i = 0; i < 23; ++i) {
    EXPECT_EQ(ioc.next(rate), Action::pause);
    EXPECT_NEAR(ioc.governor.overhead(), kBudget, 1e-4);
    EXPECT_NEAR(ioc.governor.attached_share(), 1.0 / 12, 1e-3);
    EXPECT_EQ(ioc.next(rate), Action::resume);
  }
  EXPECT_NEAR(ioc.attached_share(), 1.0 / 12, 1e-3);
  EXPECT_NEAR(ioc.cost_share(), kBudget, 1e-3);
}

TEST(OverheadGovernor, SlicesAreNeverTooShortToSeeSomething) {
  Loaded ioc(0.001);
  EXPECT_EQ(ioc.next(1'000'000), Action::begin_slices);
  ioc.forget_times();
  EXPECT_EQ(ioc.next(1'000'000), Action::pause);
  EXPECT_EQ(ioc.attached_share(), 1);
  EXPECT_EQ(ioc.next(0), Action::resume);
  EXPECT_NEAR(ioc.attached_share(), 0.001 / 3, 1e-5);  // the budget holds all the same
}

TEST(OverheadGovernor, PausesVaryAboutTheirMean) {
  double sequence = 0;
  Loaded ioc(kBudget, [&] { return sequence = sequence < 0.9 ? sequence + 0.25 : 0; });
  EXPECT_EQ(ioc.next(200'000), Action::begin_slices);
  ioc.forget_times();
  std::vector<double> shares;
  for (int i = 0; i < 20; ++i) {
    ioc.next(200'000);
    ioc.next(200'000);
    shares.push_back(ioc.attached_share());
  }
  EXPECT_NE(shares[0], shares[1]);
  EXPECT_NEAR(ioc.attached_share(), 1.0 / 12, 0.01);
}

TEST(OverheadGovernor, GoesBackAfterCalmSlicesOnly) {
  Loaded ioc(kBudget);
  EXPECT_EQ(ioc.next(20'000), Action::begin_slices);  // 0.06
  std::vector<Action> actions;
  for (int i = 0; i < 40 && ioc.governor.in_slices(); ++i) actions.push_back(ioc.next(15'000));
  EXPECT_TRUE(ioc.governor.in_slices()) << "0.045 is below the budget, and not well below it";
  EXPECT_EQ(ioc.governor.attached_share(), 1);
  unsigned slices = 0;
  while (ioc.governor.in_slices()) {
    ASSERT_LT(++slices, 40u);
    actions.push_back(ioc.next(10'000));
  }
  EXPECT_EQ(actions.back(), Action::end_slices);
  EXPECT_GE(slices, OverheadGovernor::kCalmSlices);
  EXPECT_EQ(ioc.next(10'000), Action::none);
  EXPECT_NEAR(ioc.governor.overhead(), 0.03, 1e-4);
}

TEST(OverheadGovernor, RisingLoadIsBoundWithinFewSlices) {
  Loaded ioc(kBudget);
  EXPECT_EQ(ioc.next(20'000), Action::begin_slices);
  for (int i = 0; i < 20; ++i) ioc.next(400'000);
  ioc.forget_times();
  for (int i = 0; i < 24; ++i) ioc.next(400'000);
  EXPECT_NEAR(ioc.cost_share(), kBudget, 0.002);
}

TEST(OverheadGovernor, RestartForgetsWhatWasBefore) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {});
  now += OverheadGovernor::kLook;
  EXPECT_EQ(governor.look(now, {100'000, 100'000}), Action::begin_slices);
  governor.restart(now, {100'000, 100'000});
  EXPECT_FALSE(governor.in_slices());
  EXPECT_EQ(governor.look(now + milliseconds(999), {900'000, 900'000}), Action::none);
  EXPECT_EQ(governor.look(now + milliseconds(1000), {100'001, 100'001}), Action::none);
}

TEST(OverheadGovernor, CountsThatBeginAnewAreNoLoad) {
  OverheadGovernor governor(kBudget, kCost, [] { return 0.5; });
  auto now = Clock::time_point(std::chrono::hours(1));
  governor.look(now, {1'000'000, 1'000'000});
  EXPECT_EQ(governor.look(now + OverheadGovernor::kLook, {10, 10}), Action::none);
  EXPECT_EQ(governor.overhead(), 0);
}

}  // namespace
}  // namespace ioc_exporter::records
