#include "iocs/memory/reader_budget.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = ReaderBudget::Verdict;

constexpr pid_t kPid = 4711;
constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;
constexpr ReaderBudget::Clock::time_point kStart{seconds(100'000)};

// How long the process rests after a hang at `now`, to the second above.
seconds rest_after_hang(ReaderBudget& budget, ReaderBudget::Clock::time_point now) {
  budget.note_hang(kPid, kUser, false, now);
  seconds rested{0};
  while (budget.judge(kPid, kUser, now + rested) == Verdict::resting) rested += seconds(1);
  return rested;
}

TEST(ReaderBudget, OneThatDoesNotAnswerRestsForASecondThenForTwiceAsLong) {
  ReaderBudget budget;
  auto now = kStart;
  EXPECT_EQ(budget.judge(kPid, kUser, now), Verdict::go);
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
  budget.note_hang(kPid, kUser, false, kStart);
  EXPECT_EQ(budget.judge(kPid, kUser, kStart), Verdict::resting);
  EXPECT_EQ(budget.judge(kPid + 1, kUser, kStart), Verdict::go);
  EXPECT_EQ(budget.left_alone(kStart), 1u);
  EXPECT_EQ(budget.left_alone(kStart + seconds(1)), 0u);
}

TEST(ReaderBudget, WhoTakesTooLongWaitsUntilHisAccountFillsUp) {
  ReaderBudget budget;
  EXPECT_EQ(budget.judge(kPid, kUser, kStart), Verdict::go);
  budget.charge(kUser, milliseconds(5200), kStart);
  EXPECT_EQ(budget.judge(kPid, kUser, kStart), Verdict::overdrawn);
  EXPECT_EQ(budget.judge(kPid, kOther, kStart), Verdict::go);
  // 200 ms at a fifth of the time that goes by.
  EXPECT_EQ(budget.judge(kPid, kUser, kStart + milliseconds(990)), Verdict::overdrawn);
  EXPECT_EQ(budget.judge(kPid, kUser, kStart + milliseconds(1010)), Verdict::go);
}

TEST(ReaderBudget, WhoseReadersNeverEndGetsNoMore) {
  ReaderBudget budget;
  for (pid_t i = 0; i < static_cast<pid_t>(ReaderBudget::kMostStuckOfUser); ++i) {
    EXPECT_EQ(budget.judge(kPid + i, kUser, kStart), Verdict::go);
    budget.note_hang(kPid + i, kUser, true, kStart);
    budget.note_stuck(static_cast<unsigned>(i) + 1);
  }
  EXPECT_EQ(budget.judge(kPid + 100, kUser, kStart), Verdict::stuck);
  EXPECT_EQ(budget.judge(kPid + 100, kOther, kStart), Verdict::go);
  budget.note_stuck(0);
  EXPECT_EQ(budget.judge(kPid + 100, kUser, kStart), Verdict::go);
}

}  // namespace
}  // namespace ioc_exporter::iocs
