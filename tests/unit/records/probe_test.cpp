// What the record probes may cost, and what memory their tables may have.
#include <gtest/gtest.h>

#include "records/probe/kernel_memory.h"
#include "records/probe/probe_control.h"
#include "records/probe/process.h"
#include "records/probe/record_lines.h"

namespace ioc_exporter::records {
namespace {

using Do = RecordBudget::Do;
using Said = std::vector<Do>;
using Shares = std::vector<std::uint64_t>;
using std::chrono::seconds;

constexpr double kHit = 1e-6, kBudget = 0.25;

// An IOC that calls at a rate, a second at a time; what it calls without probes hits nothing.
class Ioc {
 public:
  explicit Ioc(double limit = kBudget) : budget(limit) { budget.attached(now, 0); }

  // Answers of the budget after each second, without Do::nothing.
  std::vector<Do> run(int time, std::uint64_t rate) {
    std::vector<Do> said;
    for (int i = 0; i < time; ++i) {
      now += seconds(1);
      if (attached) entries += rate;
      if (attached) ++attached_seconds;
      const Do what = budget.look(now, static_cast<double>(entries) * kHit);
      if (what == Do::take_off) attached = false;
      if (what == Do::attach) {
        attached = true;
        budget.attached(now, static_cast<double>(entries) * kHit);
      }
      if (what != Do::nothing) said.push_back(what);
    }
    return said;
  }

  RecordBudget::Clock::time_point now{std::chrono::hours(1)};
  RecordBudget budget;
  std::uint64_t entries = 0;
  bool attached = true;
  int attached_seconds = 0;
};

TEST(RecordBudget, LeavesAnIocBelowItAlone) {
  Ioc ioc;
  EXPECT_EQ(ioc.run(1000, 249'000), Said{});
  EXPECT_TRUE(ioc.budget.counts());
  Ioc unbound(0);
  EXPECT_EQ(unbound.run(100, 10'000'000), Said{});
}

TEST(RecordBudget, ABurstOfTwoSecondsIsNoLoad) {
  Ioc ioc;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ioc.run(2, 1'000'000), Said{});
    EXPECT_EQ(ioc.run(1, 1'000), Said{});
  }
}

TEST(RecordBudget, TakesTheProbesOffAndTriesAgainUntilTheLoadHasFallen) {
  Ioc ioc;
  EXPECT_EQ(ioc.run(3, 300'000), Said{Do::take_off});
  EXPECT_NEAR(ioc.budget.load(), 0.3, 1e-9);
  EXPECT_TRUE(ioc.budget.rests());
  EXPECT_EQ(ioc.run(15, 300'000), Said{Do::attach});
  EXPECT_TRUE(ioc.budget.in_trial());
  EXPECT_EQ(ioc.run(1, 300'000), Said{Do::take_off});
  EXPECT_EQ(ioc.run(29, 300'000), Said{}) << "the next rest is twice as long";
  EXPECT_EQ(ioc.run(2, 220'000), (Said{Do::attach, Do::take_off})) << "that is on the edge";
  EXPECT_EQ(ioc.run(61, 190'000), (Said{Do::attach, Do::keep}));
  EXPECT_TRUE(ioc.budget.counts());
}

// One second in five minutes, whatever it does.
TEST(RecordBudget, TheCostIsBounded) {
  Ioc ioc;
  ioc.run(3600, 300'000);
  ioc.attached_seconds = 0;
  ioc.run(301 * 20, 300'000);
  EXPECT_EQ(ioc.attached_seconds, 20);
}

TEST(RecordBudget, RepeatedOverloadRestsLongerEachTime) {
  Ioc ioc;
  int rests = 0;
  for (int i = 0; i < 3600; ++i) {
    const auto said = ioc.run(1, ioc.budget.in_trial() ? 1'000 : 300'000);
    rests += said == Said{Do::take_off};
  }
  EXPECT_LE(rests, 16);
  ioc.run(700, 1'000);  // counted for more than five minutes
  EXPECT_EQ(ioc.run(3, 300'000), Said{Do::take_off});
  EXPECT_EQ(ioc.run(15, 300'000), Said{Do::attach}) << "and all begins anew";
}

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
