// Habits over time, and their file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "records/habits_file.h"
#include "support/full_disk.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

// Habits as they are kept: read as they were written, and nothing believed that cannot be.

KeptHabits sample() {
  KeptHabits habits;
  habits["ps"] = {"epics",
                  90'000.5,
                  172'800,
                  {{fnv1a("R:a"), 3, 90'000, 60, 10.5F}, {fnv1a("R:b"), 0, 0, 0, 0}}};
  habits["vac"] = {"", 0, 86'400, {}};
  return habits;
}

std::string with_sum(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  const std::uint64_t sum = fnv1a(bytes);
  return bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

TEST(HabitsFile, AreReadAsTheyWereWritten) {
  const auto read = value_of(habits_from_bytes(to_bytes(7, sample())));
  EXPECT_EQ(read.generation, 7u);
  ASSERT_EQ(read.iocs.size(), 2u);
  const KeptIoc& ps = read.iocs.at("ps");
  EXPECT_EQ(ps.user, "epics");
  EXPECT_EQ(ps.observed, 90'000.5);
  EXPECT_EQ(ps.next_day, 172'800);
  ASSERT_EQ(ps.habits.size(), 2u);
  EXPECT_EQ(ps.habits[0].name, fnv1a("R:a"));
  EXPECT_EQ(ps.habits[0].since, 3u);
  EXPECT_EQ(ps.habits[0].active, 90'000u);
  EXPECT_EQ(ps.habits[0].silence, 60u);
  EXPECT_EQ(ps.habits[0].rate, 10.5F);
}

TEST(HabitsFile, DamagedFilesAreRefused) {
  const std::string whole = to_bytes(7, sample());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(habits_from_bytes(whole.substr(0, length))) << length;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    EXPECT_FALSE(habits_from_bytes(other)) << at;
  }
  EXPECT_FALSE(habits_from_bytes(whole + "x"));
}

// With a sum that is right: whatever stands there, it ends, and takes no more than the file has.
TEST(HabitsFile, NumbersOfAForgerAreBounded) {
  const std::string whole = to_bytes(7, sample());
  for (std::size_t at = 42; at + 12 <= whole.size(); ++at)
    for (const std::uint32_t number : {0u, 0x7fffffffu, 0xffffffffu, 500'000u}) {
      std::string other = whole;
      std::memcpy(other.data() + at, &number, sizeof number);
      const auto read = habits_from_bytes(with_sum(other));
      if (!read) continue;
      std::size_t habits = 0;
      for (const auto& [name, ioc] : read->iocs) {
        habits += ioc.habits.size();
        for (const KeptHabit& habit : ioc.habits) {
          EXPECT_LE(habit.since, habit.active);
          EXPECT_LE(habit.active, ioc.observed);
          EXPECT_TRUE(std::isfinite(habit.rate) && habit.rate >= 0);
        }
      }
      EXPECT_LE(habits, 2u);
    }
}

TEST(HabitsFile, ImpossibleValuesAreRefused) {
  const auto refused = [](const std::function<void(KeptIoc&)>& change) {
    KeptHabits habits = sample();
    change(habits["ps"]);
    return !habits_from_bytes(to_bytes(7, habits));
  };
  EXPECT_FALSE(refused([](KeptIoc&) {}));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.observed = -1; }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.observed = std::nan(""); }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.observed = 1e300; }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.next_day = 1e300; })) << "they would never fade";
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.user = "a\nb"; }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.habits[0].active = 90'001; })) << "later than now";
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.habits[0].since = 90'001; }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.habits[0].silence = 90'001; }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.habits[0].rate = -1; }));
  EXPECT_TRUE(
      refused([](KeptIoc& ioc) { ioc.habits[0].rate = std::numeric_limits<float>::infinity(); }));
  EXPECT_TRUE(refused([](KeptIoc& ioc) { ioc.habits.resize(kMostKeptHabits + 1); }));
}

// Habits are written now and then: who is killed loses minutes, not all.

class HabitsKeeperTest : public testing::Test {
 protected:
  // Habits `observed` seconds after the first.
  static KeptHabits habits(double observed) {
    return {{"ps", {"epics", observed, observed + 10, {{fnv1a("R:a"), 3, 4, 60, 10.5F}}}}};
  }
  // As an exporter that starts now would read them.
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

  const TemporaryFolder temporary_;
  std::string folder_ = temporary_.path(), problem_;
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

TEST_F(HabitsKeeperTest, AFullDiskIsToldAndTriedAgain) {
  HabitsKeeper keeper;
  keeper.open(folder_, now_);
  now_ += HabitsKeeper::kPause;
  {
    const FullDisk full;
    while (keeper.problem().empty()) keeper.keep(now_, [this] { return known(); });
  }
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
