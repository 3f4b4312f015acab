// What memory the tables of the record probes may have.
#include <gtest/gtest.h>

#include "records/probe/kernel_memory.h"
#include "records/probe/record_lines.h"

namespace ioc_exporter::records {
namespace {

using Shares = std::vector<std::uint64_t>;

MemoryClaim claim(std::uint64_t held, std::uint64_t wanted) {
  return {.held = held, .likely = 2 * held, .wanted = wanted};
}

TEST(MemoryShares, AnIocGetsHalfAtMost) {
  EXPECT_EQ(share_memory(1000, {claim(0, 5000)}), Shares{500});
  EXPECT_EQ(share_memory(1000, {claim(0, 5000), claim(0, 5000)}), (Shares{500, 500}));
}

TEST(MemoryShares, SmallDemandsAreMetBeforeLargeOnes) {
  EXPECT_EQ(share_memory(1024, {claim(0, 5000), claim(0, 300), claim(0, 3), claim(0, 5000)}),
            (Shares{360, 300, 3, 360}));
  EXPECT_EQ(share_memory(1024, {}), Shares{});
}

TEST(MemoryShares, HeldMemoryIsNotTakenBack) {
  EXPECT_EQ(share_memory(1000, {claim(800, 5000), claim(0, 600)}), (Shares{800, 200}));
  EXPECT_EQ(share_memory(1000, {claim(1200, 5000), claim(0, 600)}), (Shares{1200, 0}));
}

// A large database of which little processes leaves the room to others that need it.
TEST(MemoryShares, UsedMemoryGoesBeforeDemands) {
  EXPECT_EQ(share_memory(1000, {claim(10, 5000), claim(240, 480), claim(240, 480)}),
            (Shares{40, 480, 480}));
}

TEST(RecordLines, ALineAddsToTheExistingCounts) {
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
