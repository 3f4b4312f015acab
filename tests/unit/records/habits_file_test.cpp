// Habits as they are kept: read as they were written, and nothing believed that cannot be.
#include "records/habits_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace ioc_exporter::records {
namespace {

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
  const auto read = habits_from_bytes(to_bytes(7, sample()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->generation, 7u);
  ASSERT_EQ(read->iocs.size(), 2u);
  const KeptIoc& ps = read->iocs.at("ps");
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

TEST(HabitsFile, WhatIsBrokenIsNotBelieved) {
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

TEST(HabitsFile, WhatCannotBeIsRefused) {
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

}  // namespace
}  // namespace ioc_exporter::records
