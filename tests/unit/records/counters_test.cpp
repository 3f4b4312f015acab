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
  const HiddenCounts counts = hidden_counts(hidden, 1, PassModel());
  ASSERT_EQ(counts.size(), 1u);
  iocx_record_stats stats{};
  add_counters(stats, counts.at(0x1000));
  EXPECT_EQ(stats.processed, 3u * 23);
  EXPECT_EQ(stats.buckets[0], 3u * 7);
}

RawRecord set_off(std::uint64_t address, iocx_record_triggers triggers) {
  RawRecord record{.address = address};
  record.stats.triggers = triggers;
  return record;
}

using By = std::vector<std::pair<PassModel::Trigger, std::uint64_t>>;

// One that has taken another's place has begun at 0; the counts are of 32 bits.
TEST(RecordCounters, WhatHasSetCallsOffSinceThen) {
  const std::vector<RawRecord> then{set_off(8, {{104, 200}, {5, 0xfffffffe}, {1, 1}}),
                                    set_off(16, {{104, 0}, {7, 0}, {1, 0}})};
  const std::vector<RawRecord> now{set_off(8, {{304, 200}, {4, 3}, {2, 2}}),
                                   set_off(16, {{104, 200}, {7, 2}, {1, 2}}),
                                   set_off(24, {{104, 0}, {9, 0}, {2, 0}}), set_off(32, {})};
  PassModel::Calls calls;
  add_triggers(calls, triggers_of(then), now);
  EXPECT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[8].by, By({{304, 4}, {200, 5}}));
  EXPECT_EQ(calls[16].by, By({{200, 2}}));
  EXPECT_EQ(calls[24].by, By({{104, 9}}));
}

}  // namespace
}  // namespace ioc_exporter::records
