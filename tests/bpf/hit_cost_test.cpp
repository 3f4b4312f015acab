// The cost of a probe's hit, measured on a child process.
#include <gtest/gtest.h>
#include <unistd.h>

#include "records/hit_cost.h"
#include "records/hit_target.h"

namespace ioc_exporter::records {
namespace {

TEST(HitTarget, CallsAreCountedExactly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  auto child = HitTarget::start();
  ASSERT_TRUE(child) << child.error().message();
  auto records = RecordProcess::start({});
  ASSERT_TRUE(records) << records.error().message();
  auto slot = records->watch(child->target());
  ASSERT_TRUE(slot) << slot.error().message();
  auto seconds = child->call(23 * 64);
  ASSERT_TRUE(seconds) << seconds.error().message();
  auto counted = records->collect(*slot);
  ASSERT_TRUE(counted) << counted.error().message();
  EXPECT_EQ(counted->size(), 64u);
  for (const RawRecord& record : *counted) {
    std::uint64_t calls = record.stats.untimed;
    for (const std::uint64_t bucket : record.stats.buckets) calls += bucket;
    EXPECT_EQ(calls, 23u);
    EXPECT_EQ(record.stats.skipped_active + record.stats.skipped_disabled, 0u);
  }
}

void expect_measured(const records::RecordProcessOptions& options) {
  auto records = RecordProcess::start(options);
  ASSERT_TRUE(records) << records.error().message();
  auto cost = measure_hit_cost(*records);
  ASSERT_TRUE(cost) << cost.error().message();
  EXPECT_GT(cost->entry_seconds, 0);
  EXPECT_GT(cost->return_seconds, 0);
  EXPECT_EQ(records->use()->attachments, 0u);
}

TEST(HitCost, IsMeasuredWhereEveryCallIsTimed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  expect_measured({});
}

TEST(HitCost, IsMeasuredWhereSomeCallsAreTimed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  records::RecordProcessOptions options;
  options.timed_rate = 100;
  expect_measured(options);
  options.timed_rate = 1;
  expect_measured(options);
}

}  // namespace
}  // namespace ioc_exporter::records
