#include "records/probe/probe_control.h"

#include <gtest/gtest.h>

#include <vector>

namespace ioc_exporter::records {
namespace {

using Do = RecordBudget::Do;
using std::chrono::seconds;

constexpr double kHit = 1e-6, kBudget = 0.25;

// An IOC that calls at a rate, a second at a time; what it calls without probes hits nothing.
class Ioc {
 public:
  explicit Ioc(double limit = kBudget) : budget(limit, kHit) { budget.attached(now, 0); }

  // What the budget says after each second, but for Do::nothing.
  std::vector<Do> run(int time, std::uint64_t rate) {
    std::vector<Do> said;
    for (int i = 0; i < time; ++i) {
      now += seconds(1);
      if (attached) entries += rate;
      if (attached) ++attached_seconds;
      const Do what = budget.look(now, entries);
      if (what == Do::take_off) attached = false;
      if (what == Do::attach) {
        attached = true;
        budget.attached(now, entries);
      }
      if (what != Do::nothing) said.push_back(what);
    }
    return said;
  }

  RecordBudget::Clock::time_point now{std::chrono::hours(1)};
  RecordBudget budget;
  std::uint64_t entries = 0;
  bool attached = true;
  int attached_seconds = 0;
};

using Said = std::vector<Do>;

TEST(RecordBudget, LeavesAnIocBelowItAlone) {
  Ioc ioc;
  EXPECT_EQ(ioc.run(1000, 249'000), Said{});
  EXPECT_TRUE(ioc.budget.counts());
  Ioc unbound(0);
  EXPECT_EQ(unbound.run(100, 10'000'000), Said{});
}

TEST(RecordBudget, ABurstOfTwoSecondsIsNoLoad) {
  Ioc ioc;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ioc.run(2, 1'000'000), Said{});
    EXPECT_EQ(ioc.run(1, 1'000), Said{});
  }
}

TEST(RecordBudget, TakesTheProbesOffAndTriesAgainUntilTheLoadHasFallen) {
  Ioc ioc;
  EXPECT_EQ(ioc.run(3, 300'000), Said{Do::take_off});
  EXPECT_NEAR(ioc.budget.load(), 0.3, 1e-9);
  EXPECT_TRUE(ioc.budget.rests());
  EXPECT_EQ(ioc.run(15, 300'000), Said{Do::attach});
  EXPECT_TRUE(ioc.budget.in_trial());
  EXPECT_EQ(ioc.run(1, 300'000), Said{Do::take_off});
  EXPECT_EQ(ioc.run(29, 300'000), Said{}) << "the next rest is twice as long";
  EXPECT_EQ(ioc.run(2, 220'000), (Said{Do::attach, Do::take_off})) << "that is on the edge";
  EXPECT_EQ(ioc.run(61, 190'000), (Said{Do::attach, Do::keep}));
  EXPECT_TRUE(ioc.budget.counts());
}

// One second in five minutes, whatever it does.
TEST(RecordBudget, WhatItCostsIsBounded) {
  Ioc ioc;
  ioc.run(3600, 300'000);
  ioc.attached_seconds = 0;
  ioc.run(301 * 20, 300'000);
  EXPECT_EQ(ioc.attached_seconds, 20);
}

TEST(RecordBudget, OneThatFallsAndRisesAgainSoonRestsLongerAndLonger) {
  Ioc ioc;
  int rests = 0;
  for (int i = 0; i < 3600; ++i) {
    const auto said = ioc.run(1, ioc.budget.in_trial() ? 1'000 : 300'000);
    rests += said == Said{Do::take_off};
  }
  EXPECT_LE(rests, 16);
  ioc.run(700, 1'000);  // counted for more than five minutes
  EXPECT_EQ(ioc.run(3, 300'000), Said{Do::take_off});
  EXPECT_EQ(ioc.run(15, 300'000), Said{Do::attach}) << "and all begins anew";
}

}  // namespace
}  // namespace ioc_exporter::records
