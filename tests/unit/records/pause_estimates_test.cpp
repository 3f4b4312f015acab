#include "records/pause_estimates.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace ioc_exporter::records {
namespace {

using Counts = PauseEstimates<std::string>;
using Table = std::map<std::string, std::map<std::uint32_t, std::uint64_t>>;

Table hidden(const Counts& counts, double paused = 0) {
  Table table;  // without zeros
  std::set<std::string> seen;
  counts.for_each(paused, [&](const std::string& key, const Counts::Counters& counters) {
    EXPECT_TRUE(seen.insert(key).second) << key << " twice";
    for (const auto& [number, value] : counters)
      if (value > 0) table[key][number] += value;
  });
  return table;
}

TEST(PauseEstimates, AddsNothingWithoutAPause) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 7}}}});
  EXPECT_EQ(hidden(counts), Table());
  counts.end();
  EXPECT_EQ(hidden(counts), Table());
}

TEST(PauseEstimates, APauseIsLikeTheSliceBeforeIt) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 7}}}, {"b", {{0, 5}, {1, 5}}}});
  counts.slice_ended({{"a", {{0, 123}, {1, 7}}}, {"b", {{0, 5}, {1, 5}}}, {"c", {{0, 0}, {1, 10}}}},
                     0.5);
  EXPECT_EQ(hidden(counts), (Table{}));
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 46}}}, {"c", {{1, 20}}}}));
  counts.pause_ended(2.0);
  EXPECT_EQ(hidden(counts), (Table{{"a", {{0, 92}}}, {"c", {{1, 40}}}}));
}

TEST(PauseEstimates, PausesAddUp) {
  Counts counts;
  counts.begin({});
  counts.slice_ended({{"a", {{0, 1}, {1, 0}}}}, 1.0);
  counts.pause_ended(0.75);
  EXPECT_EQ(hidden(counts), (Table{}));  // 0.75: not a whole one yet
  counts.slice_ended({{"a", {{0, 2}, {1, 0}}}}, 1.0);
  counts.pause_ended(0.75);
  EXPECT_EQ(hidden(counts), (Table{{"a", {{0, 1}}}}));
  counts.slice_ended({{"a", {{0, 2}, {1, 0}}}}, 1.0);
  EXPECT_EQ(hidden(counts, 100.0), (Table{{"a", {{0, 1}}}}));  // an idle slice
  counts.end();
  EXPECT_EQ(hidden(counts), (Table{{"a", {{0, 1}}}}));
}

TEST(PauseEstimates, WhatIsCountedInAPauseIsNoReasonToEstimateMore) {
  Counts counts;
  counts.begin({});
  counts.slice_ended({{"a", {{0, 10}, {1, 0}}}}, 1.0);
  counts.pause_ended(1.0);
  counts.begin({{"a", {{0, 13}}}});  // three calls had begun before
  counts.slice_ended({{"a", {{0, 23}, {1, 0}}}}, 1.0);
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 20}}}}));
}

TEST(PauseEstimates, NeverShrinks) {
  Counts counts;
  std::uint64_t a = 0, before = 0;
  counts.begin({});
  for (int cycle = 1; cycle <= 23; ++cycle) {
    a += static_cast<std::uint64_t>(cycle * 7 % 5);
    counts.slice_ended({{"a", {{0, a}, {1, 0}}}}, 0.37);
    for (double paused = 0; paused < 1.9; paused += 0.1)
      for (const auto& [key, counters] : hidden(counts, paused)) {
        EXPECT_GE(counters.at(0), before);
        before = counters.at(0);
      }
    counts.pause_ended(1.9);
  }
  EXPECT_GT(before, 0u);
}

TEST(PauseEstimates, ACounterThatBeginsAnewHidesNothing) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 1}}}});
  counts.slice_ended({{"a", {{0, 50}, {1, 4}}}}, 1.0);
  EXPECT_EQ(hidden(counts, 2.0), (Table{{"a", {{1, 6}}}}));
}

}  // namespace
}  // namespace ioc_exporter::records
