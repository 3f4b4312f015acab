#include "records/families/samples.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

iocx_record_stats stats(std::uint64_t count) {
  iocx_record_stats stats{};
  stats.buckets[7] = count;
  stats.sum_ns = 100 * count;
  stats.self_ns = 10 * count;
  stats.processed = count + 1;
  stats.untimed = 1;
  stats.skipped_active = 2;
  stats.skipped_disabled = 3;
  return stats;
}

TEST(RecordSamples, HaveTheIndexOfTheirRecordOrAreUnknown) {
  const Database database{{"calc"}, {{0x1000, "A", 0}, {0x2000, "B", 0}, {0x3000, "C", 0}}, {}};
  RecordSamples made(database);
  made.add(0x3000, stats(5));
  made.add(0x1000, stats(7));
  EXPECT_FALSE(made.any_unknown());
  made.add(0x2800, stats(6));
  EXPECT_TRUE(made.any_unknown());
  const auto samples = made.take();
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].record, 2u);
  EXPECT_EQ(samples[1].record, 0u);
  EXPECT_EQ(samples[1].buckets[7], 7u);
  EXPECT_EQ(samples[1].sum_ns, 700u);
  EXPECT_EQ(samples[1].self_ns, 70u);
  EXPECT_EQ(samples[1].processed, 8u);
  EXPECT_EQ(samples[1].skipped_active, 2u);
  EXPECT_EQ(samples[1].skipped_disabled, 3u);
  EXPECT_EQ(samples[2].record, RecordSample::kUnknown);
  EXPECT_EQ(samples[2].buckets[7], 6u);
}

}  // namespace
}  // namespace ioc_exporter::records
