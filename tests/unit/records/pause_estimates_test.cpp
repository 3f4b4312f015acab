#include "records/pause_estimates.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace ioc_exporter::records {
namespace {

using Counts = PauseEstimates<std::string>;
using Table = std::map<std::string, std::map<std::uint32_t, std::uint64_t>>;

Table hidden(const Counts& counts, double progress = 0) {
  Table table;  // without zeros
  std::set<std::string> seen;
  counts.for_each(progress, [&](const std::string& key, const Counts::Counters& counters) {
    EXPECT_TRUE(seen.insert(key).second) << key << " twice";
    for (const auto& [number, value] : counters)
      if (value > 0) table[key][number] += value;
  });
  return table;
}

TEST(PauseEstimates, AddsNothingWithoutACycle) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 7}}}});
  EXPECT_EQ(hidden(counts), Table());
  counts.end();
  EXPECT_EQ(hidden(counts), Table());
}

TEST(PauseEstimates, ASliceStandsForItsCycle) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 7}}}, {"b", {{0, 5}, {1, 5}}}});
  counts.slice_ended({{"a", {{0, 123}, {1, 7}}}, {"b", {{0, 5}, {1, 5}}}, {"c", {{0, 0}, {1, 10}}}},
                     0.5);
  EXPECT_EQ(hidden(counts, 1.0), (Table{})) << "the cycle is not over";
  counts.cycle_ended(2.5);  // 2 s of which were hidden
  EXPECT_EQ(hidden(counts), (Table{})) << "is added during the next cycle";
  EXPECT_EQ(hidden(counts, 0.5), (Table{{"a", {{0, 46}}}, {"c", {{1, 20}}}}));
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 92}}}, {"c", {{1, 40}}}}));
  counts.cycle_ended(2.5);  // without a slice
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 92}}}, {"c", {{1, 40}}}}));
}

TEST(PauseEstimates, CyclesAddUp) {
  Counts counts;
  counts.begin({});
  counts.slice_ended({{"a", {{0, 1}, {1, 0}}}}, 1.0);
  counts.cycle_ended(1.75);
  EXPECT_EQ(hidden(counts, 1.0), (Table{}));  // 0.75: not a whole one yet
  counts.slice_ended({{"a", {{0, 2}, {1, 0}}}}, 1.0);
  counts.cycle_ended(1.75);
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 1}}}}));
  counts.slice_ended({{"a", {{0, 2}, {1, 0}}}}, 1.0);  // an idle slice
  counts.cycle_ended(100.0);
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 1}}}}));
  counts.end();
  EXPECT_EQ(hidden(counts), (Table{{"a", {{0, 1}}}}));
}

TEST(PauseEstimates, WhatWasHiddenBeforeTheEndStays) {
  Counts counts;
  counts.begin({});
  counts.slice_ended({{"a", {{0, 10}}}}, 1.0);
  counts.cycle_ended(3.0);
  counts.slice_ended({{"a", {{0, 30}}}}, 1.0);  // of a cycle that does not end
  counts.end();
  EXPECT_EQ(hidden(counts), (Table{{"a", {{0, 20}}}}));
}

TEST(PauseEstimates, WhatIsCountedInAPauseIsNoReasonToEstimateMore) {
  Counts counts;
  counts.begin({});
  counts.slice_ended({{"a", {{0, 10}, {1, 0}}}}, 1.0);
  counts.cycle_ended(2.0);
  counts.begin({{"a", {{0, 13}}}});  // three calls had begun before
  counts.slice_ended({{"a", {{0, 23}, {1, 0}}}}, 1.0);
  counts.cycle_ended(2.0);
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{0, 20}}}}));
}

TEST(PauseEstimates, AfterALostSliceTheCountersAreReadAnew) {
  Counts counts;
  counts.begin({{"a", {{0, 1000}}}});
  EXPECT_TRUE(counts.has_base());
  counts.slice_lost();
  EXPECT_FALSE(counts.has_base());
  counts.cycle_ended(4.0);
  EXPECT_EQ(hidden(counts, 1.0), (Table{}));
}

TEST(PauseEstimates, NeverShrinks) {
  Counts counts;
  std::uint64_t a = 0, before = 0;
  counts.begin({});
  for (int cycle = 1; cycle <= 23; ++cycle) {
    a += static_cast<std::uint64_t>(cycle * 7 % 5);
    counts.slice_ended({{"a", {{0, a}, {1, 0}}}}, 0.37);
    for (double progress = 0; progress < 1; progress += 0.1)
      for (const auto& [key, counters] : hidden(counts, progress)) {
        EXPECT_GE(counters.at(0), before);
        before = counters.at(0);
      }
    counts.cycle_ended(2.27);
  }
  EXPECT_GT(before, 0u);
}

TEST(PauseEstimates, ACounterThatBeginsAnewHidesNothing) {
  Counts counts;
  counts.begin({{"a", {{0, 100}, {1, 1}}}});
  counts.slice_ended({{"a", {{0, 50}, {1, 4}}}}, 1.0);
  counts.cycle_ended(3.0);
  EXPECT_EQ(hidden(counts, 1.0), (Table{{"a", {{1, 6}}}}));
}

}  // namespace
}  // namespace ioc_exporter::records
