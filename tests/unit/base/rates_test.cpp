#include "base/rates.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(Rates, AreSinceTheLookBefore) {
  Rates rates;
  const auto start = Rates::Clock::now();
  EXPECT_TRUE(rates.of({{"a", 100}, {"b", 10}}, start).empty());
  EXPECT_TRUE(rates.of({{"a", 100}, {"b", 10}}, start + milliseconds(500)).empty());
  const auto now = rates.of({{"a", 146}, {"b", 33}}, start + milliseconds(2000));
  ASSERT_EQ(now.size(), 2u);
  EXPECT_DOUBLE_EQ(now.at("a"), 23);
  EXPECT_DOUBLE_EQ(now.at("b"), 11.5);
}

TEST(Rates, GoOnFromTheLatestThatIsOldEnough) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 0}}, start);
  rates.of({{"a", 1000}}, start + milliseconds(1000));
  rates.of({{"a", 1000}}, start + milliseconds(2000));
  EXPECT_DOUBLE_EQ(rates.of({{"a", 1023}}, start + milliseconds(3000)).at("a"), 23);
}

TEST(Rates, OfARestartedIocBeginAnew) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 1000}, {"b", 100}}, start);
  const auto now = rates.of({{"a", 46}, {"b", 7}}, start + milliseconds(2000));
  EXPECT_DOUBLE_EQ(now.at("a"), 23);
  EXPECT_DOUBLE_EQ(now.at("b"), 3.5);
}

TEST(Rates, WhatWasNotCountedBeforeHasNone) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 0}}, start);
  const auto now = rates.of({{"a", 2}, {"new", 7}}, start + milliseconds(2000));
  EXPECT_TRUE(now.contains("a"));
  EXPECT_FALSE(now.contains("new"));
}

TEST(Rates, ALongTimeAgoIsNoNow) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 0}}, start);
  EXPECT_TRUE(rates.of({{"a", 46}}, start + minutes(11)).empty());
}

}  // namespace
}  // namespace ioc_exporter
