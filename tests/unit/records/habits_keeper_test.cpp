// Habits are written now and then: who is killed loses minutes, not all.
#include "records/habits_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace ioc_exporter::records {
namespace {

class HabitsKeeperTest : public testing::Test {
 protected:
  HabitsKeeperTest() {
    std::string name = testing::TempDir() + "habits.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~HabitsKeeperTest() override { std::filesystem::remove_all(folder_); }

  // What they are, `observed` seconds after the first.
  static KeptHabits habits(double observed) {
    return {{"ps", {"epics", observed, observed + 10, {{fnv1a("R:a"), 3, 4, 60, 10.5F}}}}};
  }
  // What somebody who starts now would read.
  ReadHabits on_disk() {
    return StateFiles::read_latest<ReadHabits>(folder_, kHabitFiles, kLargestHabitFile,
                                               habits_from_bytes, problem_);
  }
  // As the exporter does it many times a second, until that generation is on the disk: another
  // thread writes it.
  void keep_until(HabitsKeeper& keeper, std::uint64_t generation) {
    while (on_disk().generation < generation) {
      keeper.keep(now_, [this] { return known(); });
      std::this_thread::yield();
    }
  }
  KeptHabits known() {
    ++asked_;
    return habits(observed_);
  }

  std::string folder_, problem_;
  HabitsKeeper::Clock::time_point now_{};
  double observed_ = 900;
  int asked_ = 0;
};

TEST_F(HabitsKeeperTest, AreWrittenOnceInAQuarterOfAnHour) {
  {
    HabitsKeeper keeper;
    EXPECT_TRUE(keeper.open(folder_, now_).empty());
    now_ += HabitsKeeper::kPause - std::chrono::seconds(1);
    keeper.keep(now_, [this] { return known(); });
    EXPECT_EQ(asked_, 0) << "not yet";
    now_ += std::chrono::seconds(1);
    keep_until(keeper, 1);
    EXPECT_EQ(asked_, 1) << "once, however often it is looked at";
    observed_ = 1800;
    now_ += HabitsKeeper::kPause;
    keep_until(keeper, 2);
    EXPECT_EQ(asked_, 2);
    EXPECT_EQ(keeper.problem(), "");
  }  // killed: it was not told of its end
  HabitsKeeper next;
  const KeptHabits kept = next.open(folder_, now_);
  ASSERT_TRUE(kept.contains("ps"));
  EXPECT_EQ(kept.at("ps").observed, 1800);
  EXPECT_EQ(kept.at("ps").habits.at(0).rate, 10.5F);
}

TEST_F(HabitsKeeperTest, AKillInTheMiddleOfAWritingLeavesTheOneBefore) {
  {
    HabitsKeeper keeper;
    keeper.open(folder_, now_);
    for (std::uint64_t generation = 1; generation <= 2; ++generation) {
      observed_ = 900.0 * static_cast<double>(generation);
      now_ += HabitsKeeper::kPause;
      keep_until(keeper, generation);
    }
  }
  std::filesystem::resize_file(folder_ + "/" + kHabitFiles[0], 60);  // of generation 2
  HabitsKeeper next;
  EXPECT_EQ(next.open(folder_, now_).at("ps").observed, 900);
  EXPECT_EQ(next.sample().read, 1u);
  observed_ = 2700;
  next.keep_now([this] { return known(); });
  EXPECT_EQ(on_disk().generation, 2u) << "what is whole is not written over";
  EXPECT_EQ(on_disk().iocs.at("ps").observed, 2700);
}

// Files may grow no more, as on a disk that is full.
TEST_F(HabitsKeeperTest, AFullDiskIsToldAndTriedAgain) {
  HabitsKeeper keeper;
  keeper.open(folder_, now_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{60, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  now_ += HabitsKeeper::kPause;
  while (keeper.problem().empty()) keeper.keep(now_, [this] { return known(); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(keeper.sample().write, 1u);
  EXPECT_EQ(asked_, 1);
  now_ += HabitsKeeper::kPause;
  keep_until(keeper, 1);
  while (!keeper.problem().empty()) keeper.keep(now_, [this] { return known(); });
  EXPECT_EQ(keeper.sample().write, 1u);
}

TEST_F(HabitsKeeperTest, WithoutAFolderNothingIsKept) {
  HabitsKeeper keeper;
  EXPECT_TRUE(keeper.open("", now_).empty());
  keeper.keep(now_ + HabitsKeeper::kPause, [this] { return known(); });
  keeper.keep_now([this] { return known(); });
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(keeper.problem(), "");
}

}  // namespace
}  // namespace ioc_exporter::records
