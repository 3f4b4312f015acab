#include "app/record_samples.h"

#include <gtest/gtest.h>

namespace ioc_exporter::app {
namespace {

probes::RawRecord raw(std::uint64_t address, std::uint64_t count) {
  probes::RawRecord record{address, {}};
  record.stats.buckets[7] = count;
  record.stats.sum_ns = 100 * count;
  record.stats.self_ns = 10 * count;
  record.stats.processed = count + 1;
  record.stats.untimed = 1;
  record.stats.skipped_active = 2;
  record.stats.skipped_disabled = 3;
  return record;
}

TEST(RecordSamples, FollowTheDatabaseAndUnknownOnesComeLast) {
  const Database database{{"calc"}, {{0x1000, "A", 0}, {0x2000, "B", 0}, {0x3000, "C", 0}}, {}};
  const auto samples =
      to_record_samples({raw(0x3000, 5), raw(0x2800, 6), raw(0x1000, 7), raw(0x9000, 8)}, database);
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[0].record, 0u);
  EXPECT_EQ(samples[0].buckets[7], 7u);
  EXPECT_EQ(samples[0].sum_ns, 700u);
  EXPECT_EQ(samples[0].self_ns, 70u);
  EXPECT_EQ(samples[0].processed, 8u);
  EXPECT_EQ(samples[0].skipped_active, 2u);
  EXPECT_EQ(samples[0].skipped_disabled, 3u);
  EXPECT_EQ(samples[1].record, 2u);
  EXPECT_EQ(samples[2].record, RecordSample::kUnknown);
  EXPECT_EQ(samples[2].buckets[7], 6u);
  EXPECT_EQ(samples[3].record, RecordSample::kUnknown);
}

}  // namespace
}  // namespace ioc_exporter::app
