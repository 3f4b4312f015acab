#include "records/probe/record_lines.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

TEST(RecordLines, ALineAddsToWhatIsThere) {
  iocx_record_stats stats{};
  stats.processed = 100;
  stats.untimed = 40;
  stats.buckets[7] = 60;
  RecordLines::Counts line{.untimed = 3};
  line.times.timed = 5;
  line.times.sum_ns = 700;
  line.times.self_ns = 600;
  line.times.slots[0] = IOCX_LINE_SLOT(7u) | 4;
  line.times.slots[1] = IOCX_LINE_SLOT(0u) | IOCX_LINE_SLOT_MOST;
  line.times.slots[2] = IOCX_LINE_SLOT(IOCX_HIST_SLOTS - 1u) | 1;
  line.add_to(stats);
  EXPECT_EQ(stats.processed, 108u);
  EXPECT_EQ(stats.untimed, 43u);
  EXPECT_EQ(stats.sum_ns, 700u);
  EXPECT_EQ(stats.self_ns, 600u);
  EXPECT_EQ(stats.buckets[7], 64u);
  EXPECT_EQ(stats.buckets[0], std::uint64_t{IOCX_LINE_SLOT_MOST});
  EXPECT_EQ(stats.buckets[IOCX_HIST_SLOTS - 1], 1u);
}

TEST(RecordLines, AsManyAsTheMemoryIsWorth) {
  EXPECT_EQ(RecordLines::lines_for(0), 4'096u);
  EXPECT_EQ(RecordLines::lines_for(64u << 20), 32'768u);
  EXPECT_EQ(RecordLines::lines_for(1ull << 40), 131'072u);
}

}  // namespace
}  // namespace ioc_exporter::records
