#include "base/monotonic_totals.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace ioc_exporter;
using Totals = MonotonicTotals<std::string, 2, int>;
using Values = Totals::Values;

TEST(CounterGrowth, IsWhatCameSinceTheLookBefore) {
  CounterGrowth<2> source;
  EXPECT_EQ(source.advance({5, 7}), (Values{5, 7}));
  EXPECT_EQ(source.advance({5, 7}), (Values{0, 0}));
  EXPECT_EQ(source.advance({5, 30}), (Values{0, 23}));
  EXPECT_EQ(source.last(), (Values{5, 30}));
}

TEST(CounterGrowth, OneLowerCounterMeansThatAllBeganAnew) {
  CounterGrowth<2> source;
  source.advance({5, 7});
  EXPECT_EQ(source.advance({4, 23}), (Values{4, 23}));
  EXPECT_EQ(source.advance({5, 23}), (Values{1, 0}));
}

TEST(CounterGrowth, GoesOnFromWhereItIsTold) {
  CounterGrowth<2> source;
  source.advance({5, 7});
  source.restart_at({3, 7});
  EXPECT_EQ(source.advance({26, 8}), (Values{23, 1}));
}

TEST(MonotonicTotals, SourcesOfOneKeyAddUp) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "a", {7, 1});
  totals.observe(1, "a", {6, 0});
  totals.observe(3, "b", {23, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {13, 1}}, {"b", {23, 0}}}));
}

TEST(MonotonicTotals, ASourceOfAnotherKeyLeavesItsCountsBehind) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(1, "b", {28, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {5, 0}}, {"b", {23, 0}}}));
}

TEST(MonotonicTotals, SumsOnlyGrowWhenSourcesBeginAnewOrGo) {
  Totals totals;
  totals.observe(1, "a", {5, 2});
  totals.observe(1, "a", {3, 2});  // began anew
  EXPECT_EQ(totals.totals().at("a"), (Values{8, 4}));
  totals.close(1);
  EXPECT_TRUE(totals.sources().empty());
  EXPECT_EQ(totals.totals().at("a"), (Values{8, 4}));
  totals.observe(1, "a", {4, 2});  // another one
  EXPECT_EQ(totals.totals().at("a"), (Values{12, 6}));
  totals.observe(2, "a", {1, 0});
  totals.close_if([](int source) { return source == 1; });
  EXPECT_EQ(totals.sources().size(), 1u);
  EXPECT_EQ(totals.totals().at("a"), (Values{13, 6}));
}

TEST(MonotonicTotals, AKeyIsThereFromItsFirstGrowthOn) {
  Totals totals;
  totals.observe(1, "a", {0, 0});
  EXPECT_TRUE(totals.totals().empty());
  EXPECT_EQ(totals.sources().size(), 1u);
  totals.observe(1, "a", {0, 1});
  EXPECT_EQ(totals.totals().at("a"), (Values{0, 1}));
}

TEST(MonotonicTotals, WhatIsPassedOverIsNoKeys) {
  Totals totals;
  totals.pass_over(1, {5, 7});
  EXPECT_TRUE(totals.totals().empty());
  totals.observe(1, "a", {28, 7});
  EXPECT_EQ(totals.totals().at("a"), (Values{23, 0}));
}

TEST(MonotonicTotals, OverTheLimitOnlyWhatIsThereGrows) {
  Totals totals(1);
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "b", {7, 1});
  totals.observe(2, "b", {8, 1});
  totals.observe(1, "a", {23, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {23, 0}}}));
  EXPECT_EQ(totals.overflowed(), (Values{8, 1}));
  totals.drop("a");
  totals.observe(2, "b", {10, 1});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"b", {2, 0}}}));
  EXPECT_EQ(totals.overflowed(), (Values{8, 1}));
}

TEST(MonotonicTotals, ADroppedKeyBeginsWithWhatIsNew) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "b", {7, 0});
  totals.drop_if([](const std::string& key) { return key == "a"; });
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"b", {7, 0}}}));
  totals.observe(1, "a", {28, 0});
  EXPECT_EQ(totals.totals().at("a"), (Values{23, 0}));
}

TEST(MonotonicTotals, SumsAreModulo64Bits) {
  Totals totals;
  totals.observe(1, "a", {~std::uint64_t{0}, 0});
  totals.observe(2, "a", {24, 0});
  EXPECT_EQ(totals.totals().at("a"), (Values{23, 0}));
}

}  // namespace
