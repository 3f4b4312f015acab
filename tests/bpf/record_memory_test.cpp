// Kernel memory of the counts of records, and a shortage of it.
#include <gmock/gmock.h>
#include <cstdlib>
#include <fstream>
#include <string>

#include "record_process_fixture.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint32_t kRecords = 100'000;

// The kernel's own figure; 0: it does not say (before Linux 6.4 it goes by the capacity).
std::uint64_t memory_of_map(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  std::map<std::string, std::uint64_t> fields;
  for (std::string name, value; info >> name >> value;)
    fields[name] = std::strtoull(value.c_str(), nullptr, 10);
  return fields["memlock:"];
}

// With maps that take memory as they are used, where the kernel has them, and with others.
class RecordMemoryTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
  }
  void start(std::uint64_t memory) {
    RecordProcessOptions options;
    options.probe_links = false;
    options.kernel_memory = memory;
    options.on_demand = GetParam();
    probe_.emplace(value_of(RecordProcess::start(options)));
    if (GetParam() && !probe_->object().grows_with_use())
      GTEST_SKIP() << "the kernel has no entries on demand (Linux 6.1, not PREEMPT_RT)";
  }
  std::uint32_t watch(const FakeIoc& ioc, std::uint32_t records) {
    return value_of(probe_->watch(ioc.target(records, true)));
  }
  std::uint64_t processed(std::uint32_t slot) const {
    std::uint64_t sum = 0;
    const auto records = probe_->collect(slot);
    EXPECT_TRUE(records);
    for (const RawRecord& record : *records) sum += record.stats.processed;
    return sum;
  }
  std::uint64_t bytes() const { return probe_->use()->memory.bytes; }
  std::uint64_t drops(std::uint32_t reason) const { return (*probe_->drops())[reason]; }

  std::optional<RecordProcess> probe_;
};

class RecordsOnDemandTest : public RecordMemoryTest {};
TEST_P(RecordsOnDemandTest, ALargeDatabasePaysForItsActiveRecords) {
  start(1024 * kMiB);
  if (IsSkipped()) return;
  FakeIoc ioc;
  const auto slot = watch(ioc, kRecords);
  const std::uint64_t empty = bytes();
  EXPECT_LT(empty, 3 * kMiB);
  ioc.ask("many 1000");
  EXPECT_EQ(processed(slot), 1'000u);
  EXPECT_GE(bytes(), empty + 1'000 * sizeof(iocx_record_stats));
  EXPECT_LT(bytes(), 5 * kMiB);
  probe_->unwatch({slot});
  EXPECT_EQ(bytes(), 0u);
}

// The metric is not below the kernel's own count, and not much above it.
TEST_P(RecordMemoryTest, TheMetricIsAtLeastTheKernelsCountAndCloseToIt) {
  start(1024 * kMiB);
  if (IsSkipped()) return;
  const std::uint64_t by_kernel =
      memory_of_map(value_of(probe_->object().make_records_map(kRecords)).fd.get());
  ASSERT_GT(by_kernel, 0u);
  const kernel::HashShape shape{8, sizeof(iocx_record_stats), kRecords, GetParam()};
  const std::uint64_t by_us = kernel::hash_bytes(shape, 0, kernel::Cpus::of_host());
  if (GetParam() && by_kernel > 90 * kMiB)
    GTEST_SKIP() << "the kernel counts by the capacity (before Linux 6.4)";
  EXPECT_GE(by_us + 4096, by_kernel);
  EXPECT_LE(by_us, by_kernel + by_kernel / 20 + 16'384 * kernel::Cpus::of_host().possible);
}

TEST_P(RecordMemoryTest, AShareThatIsUsedUpIsCountedAndTheLimitHolds) {
  start(16 * kMiB);
  if (IsSkipped()) return;
  FakeIoc ioc;
  const auto slot = watch(ioc, kRecords);
  ioc.ask("many 20000");
  const std::uint64_t counted = processed(slot);
  EXPECT_GT(counted, 6'000u);  // of half of the limit: the rest is for others
  EXPECT_LT(counted, 9'000u);
  EXPECT_LE(bytes(), 8 * kMiB);
  EXPECT_EQ(drops(IOCX_RECORD_DROP_MEMORY), 20'000 - counted);
  EXPECT_EQ(probe_->refused(slot), 20'000 - counted);
  probe_->share_memory();
  EXPECT_LE(bytes(), 8 * kMiB);
  // Records that have a place are counted further on.
  const std::uint64_t before = processed(slot);
  ioc.ask("again");
  EXPECT_EQ(processed(slot), 2 * before);
}

TEST_P(RecordMemoryTest, AFullFakeLeavesRoomForAnother) {
  start(16 * kMiB);
  if (IsSkipped()) return;
  FakeIoc fake, honest;
  watch(fake, kRecords);
  fake.ask("many 20000");
  probe_->share_memory();
  EXPECT_LE(bytes(), 8 * kMiB);
  const auto slot = watch(honest, 5'000);
  honest.ask("many 5000");
  EXPECT_EQ(processed(slot), 5'000u);
  EXPECT_EQ(probe_->refused(slot), 0u);
  EXPECT_LE(bytes(), 16 * kMiB);
}

TEST_P(RecordMemoryTest, AnIocForWhichThereIsNoRoomIsRefused) {
  start(1 * kMiB);
  if (IsSkipped()) return;
  FakeIoc first, second, third;
  const auto slot = watch(first, kRecords);
  first.ask("many 1000");
  watch(second, kRecords);
  second.ask("many 1000");
  const auto refused = probe_->watch(third.target(kRecords, true));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("--limit.kernel-memory (1 MiB"));
  EXPECT_LE(bytes(), kMiB);
  // The room of one that has ended is free again.
  probe_->unwatch({slot});
  watch(third, 128);
  EXPECT_EQ(third.ask("call 3 23"), 23u);
}

TEST_P(RecordMemoryTest, AMapThatHasGrownIsCountedOnce) {
  start(1024 * kMiB);
  if (IsSkipped()) return;
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);
  ioc.ask({"call 1 5", "call 2 5"});
  ASSERT_TRUE(probe_->update(slot, ioc.target(1'000, true)));
  ioc.ask("call 1 6");
  EXPECT_EQ(processed(slot), 16u);
  EXPECT_EQ(probe_->object().maps().rooms.used(slot), 1u);
}

INSTANTIATE_TEST_SUITE_P(OnDemandOrNot, RecordMemoryTest, ::testing::Bool());
INSTANTIATE_TEST_SUITE_P(OnDemand, RecordsOnDemandTest, ::testing::Values(true));

}  // namespace
}  // namespace ioc_exporter::records
