#include "shared/ca_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace {

class CaWindow : public ::testing::Test {
 protected:
  bool add(std::uint32_t from, std::uint32_t to) {
    iocx_ca_choice choice{base_ + from, base_ + to, 0, 0};
    return iocx_ca_add_extent(page_.get(), &choice);
  }
  std::uint32_t stored(std::uint32_t from) {
    const iocx_ca_choice choice{base_ + from, base_ + from + 1, 0, 0};
    return iocx_ca_stored(page_.get(), &choice);
  }
  // The next extent as {from, to}, or {0, 0}.
  std::pair<std::uint32_t, std::uint32_t> next(std::uint32_t next) {
    iocx_ca_choice choice{};
    iocx_ca_next_extent(page_.get(), &choice, base_ + next);
    if (choice.at == IOCX_CA_EXTENTS) return {0, 0};
    return {choice.from - base_, choice.to - base_};
  }

  std::unique_ptr<iocx_ca_page> page_ = std::make_unique<iocx_ca_page>();
  std::uint32_t base_ = 0xFFFFFF80u;  // sequence numbers start over behind it
};

using Extent = std::pair<std::uint32_t, std::uint32_t>;

TEST_F(CaWindow, GivesExtentsInTheirOrder) {
  EXPECT_EQ(next(0), Extent());
  EXPECT_TRUE(add(300, 400));
  EXPECT_TRUE(add(100, 200));
  EXPECT_EQ(next(0), Extent(100, 200));
  EXPECT_EQ(next(100), Extent(100, 200));
  EXPECT_EQ(next(150), Extent(100, 200));
  EXPECT_EQ(next(200), Extent(300, 400));
  EXPECT_EQ(next(400), Extent());
  EXPECT_EQ(next(0), Extent());  // what was passed is gone
}

TEST_F(CaWindow, JoinsWhatOverlapsOrTouches) {
  for (const auto& [from, to] : {Extent(100, 200), {300, 400}, {500, 600}, {700, 800}})
    add(from, to);
  add(200, 300);
  EXPECT_EQ(next(0), Extent(100, 400));
  add(550, 750);
  add(60, 70);
  EXPECT_EQ(next(0), Extent(60, 70));
  EXPECT_EQ(next(70), Extent(100, 400));
  EXPECT_EQ(next(400), Extent(500, 800));
  add(0, 1000);
  EXPECT_EQ(next(0), Extent(0, 1000));
}

TEST_F(CaWindow, IsFullAtItsLimit) {
  for (std::uint32_t i = 0; i < IOCX_CA_EXTENTS; ++i) ASSERT_TRUE(add(i * 10 + 1, i * 10 + 5));
  EXPECT_FALSE(add(1000, 1001));
  EXPECT_TRUE(add(2, 4));   // is there already
  EXPECT_TRUE(add(5, 11));  // joins two: one place is free again
  EXPECT_TRUE(add(1000, 1001));
}

TEST_F(CaWindow, ReachIsThatOfItsPlaces) {
  constexpr std::uint32_t kAll = IOCX_CA_PAGE * IOCX_CA_WINDOW_PAGES;
  EXPECT_TRUE(iocx_ca_reaches(0, kAll));
  EXPECT_FALSE(iocx_ca_reaches(0, kAll + 1));
  EXPECT_TRUE(iocx_ca_reaches(IOCX_CA_PAGE - 1, kAll));
  EXPECT_FALSE(iocx_ca_reaches(IOCX_CA_PAGE - 1, kAll + 1));
  EXPECT_TRUE(iocx_ca_reaches(0xFFFFFFFFu, kAll - IOCX_CA_PAGE));
  EXPECT_FALSE(iocx_ca_reaches(0xFFFFFFFFu, kAll - IOCX_CA_PAGE + 1));
  EXPECT_EQ(iocx_ca_place(0), iocx_ca_place(kAll));
  EXPECT_EQ(iocx_ca_place(0xFFFFFFFFu), IOCX_CA_WINDOW_PAGES - 1);
}

TEST_F(CaWindow, WhatIsThereNeedNotBeStoredAgain) {
  EXPECT_EQ(stored(100), 0u);
  EXPECT_TRUE(add(100, 200));
  EXPECT_EQ(stored(100), 100u);
  EXPECT_EQ(stored(150), 50u);
  EXPECT_EQ(stored(200), 0u);
  EXPECT_EQ(stored(99), 0u) << "a segment that starts earlier";
}

// Against one flag a byte.
TEST_F(CaWindow, RandomExtents) {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    *page_ = {};
    base_ = static_cast<std::uint32_t>(random());
    std::vector<bool> there(500);
    std::uint32_t passed = 0;
    for (int step = 0; step < 60; ++step) {
      const auto from = passed + 1 + static_cast<std::uint32_t>(random() % (400 - passed));
      const auto to = from + 1 + static_cast<std::uint32_t>(random() % 20);
      ASSERT_TRUE(add(from, to));
      for (std::uint32_t i = from; i < to; ++i) there[i] = true;
      if (random() % 8 == 0) passed += static_cast<std::uint32_t>(random() % 20);
      std::uint32_t first = passed;
      while (first < there.size() && !there[first]) ++first;
      std::uint32_t last = first;
      while (last < there.size() && there[last]) ++last;
      const Extent found = next(passed);
      if (first == there.size()) {
        ASSERT_EQ(found, Extent());
        continue;
      }
      ASSERT_EQ(found.second, last);
      ASSERT_EQ(std::max(found.first, passed), first);
    }
  }
}

}  // namespace
