#include "records/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace ioc_exporter::records {
namespace {

iocx_record_stats some_stats() {
  iocx_record_stats stats{};
  stats.processed = 23;
  stats.sum_ns = 1009;
  stats.self_ns = 997;
  stats.untimed = 2;
  stats.skipped_active = 3;
  stats.skipped_disabled = 5;
  stats.buckets[0] = 7;
  stats.buckets[IOCX_HIST_SLOTS - 1] = 14;
  return stats;
}

TEST(RecordCounters, AreAllThatCountsAndNoZeros) {
  const auto counters = counters_of(some_stats());
  EXPECT_EQ(counters.size(), 8u);
  EXPECT_TRUE(std::ranges::is_sorted(counters));
  iocx_record_stats copy{};
  add_counters(copy, counters);
  const iocx_record_stats stats = some_stats();
  EXPECT_EQ(std::memcmp(&copy, &stats, sizeof copy), 0);
  add_counters(copy, counters);
  EXPECT_EQ(copy.processed, 46u);
  EXPECT_EQ(copy.buckets[IOCX_HIST_SLOTS - 1], 28u);
}

TEST(RecordCounters, WhatIsHiddenStandsUnderItsRecord) {
  std::vector<records::RawRecord> records = {{0x1000, some_stats()}, {0x2000, some_stats()}};
  PausedRecordEstimates hidden;
  hidden.begin(counters_of({{0x2000, some_stats()}}));
  hidden.slice_ended(counters_of(records), 0.5);  // 0x1000 is new in this slice
  hidden.cycle_ended(2.0);
  const HiddenCounts counts = hidden_counts(hidden, 1, [](std::uint64_t) { return 0.0; });
  ASSERT_EQ(counts.size(), 1u);
  iocx_record_stats stats{};
  add_counters(stats, counts.at(0x1000));
  EXPECT_EQ(stats.processed, 3u * 23);
  EXPECT_EQ(stats.buckets[0], 3u * 7);
}

}  // namespace
}  // namespace ioc_exporter::records
