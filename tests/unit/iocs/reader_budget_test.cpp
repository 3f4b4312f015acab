#include "iocs/memory/reader_budget.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr pid_t kPid = 4711;
constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;
constexpr ReaderBudget::Clock::time_point kStart{seconds(100'000)};

// How long the process rests after a hang at `now`, to the second above.
seconds rest_after_hang(ReaderBudget& budget, ReaderBudget::Clock::time_point now) {
  budget.note_hang(kPid, now);
  seconds rested{0};
  while (budget.is_resting(kPid, now + rested)) rested += seconds(1);
  return rested;
}

TEST(ReaderBudget, OneThatDoesNotAnswerRestsForASecondThenForTwiceAsLong) {
  ReaderBudget budget;
  auto now = kStart;
  EXPECT_FALSE(budget.is_resting(kPid, now));
  for (const int expected : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600}) {
    EXPECT_EQ(rest_after_hang(budget, now), seconds(expected));
    now += seconds(expected);
  }
}

TEST(ReaderBudget, OneThatAnsweredForLongIsForgiven) {
  ReaderBudget budget;
  auto now = kStart;
  for (int i = 0; i < 8; ++i) now += rest_after_hang(budget, now);
  // The last rest was 128 s, the next would be 256 s.
  EXPECT_EQ(rest_after_hang(budget, now + seconds(255)), seconds(256));
  now += seconds(255 + 256);
  EXPECT_EQ(rest_after_hang(budget, now + seconds(513)), seconds(1));
}

TEST(ReaderBudget, OthersGoOnWhileOneRests) {
  ReaderBudget budget;
  budget.note_hang(kPid, kStart);
  EXPECT_TRUE(budget.is_resting(kPid, kStart));
  EXPECT_FALSE(budget.is_resting(kPid + 1, kStart));
  EXPECT_EQ(budget.resting(kStart), 1u);
  EXPECT_EQ(budget.resting(kStart + seconds(1)), 0u);
}

TEST(ReaderBudget, AUserAboveTheShareWaitsUntilTheAccountFillsUp) {
  ReaderBudget budget;
  EXPECT_FALSE(budget.is_overdrawn(kUser, kStart));
  budget.charge(kUser, milliseconds(5200), kStart);
  EXPECT_TRUE(budget.is_overdrawn(kUser, kStart));
  EXPECT_FALSE(budget.is_overdrawn(kOther, kStart));
  // 200 ms at a fifth of the time that goes by.
  EXPECT_TRUE(budget.is_overdrawn(kUser, kStart + milliseconds(990)));
  EXPECT_FALSE(budget.is_overdrawn(kUser, kStart + milliseconds(1010)));
}

}  // namespace
}  // namespace ioc_exporter::iocs
