// The shape for puts of bpf/shared/histogram.h against floating point.
#include "shared/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

// The definition: the first slot whose upper edge, in seconds, is not below the duration.
std::uint32_t slot_by_definition(std::uint64_t ns) {
  for (int k = IOCX_PUT_HIST_FIRST_K; k <= IOCX_PUT_HIST_LAST_K; ++k)
    if (static_cast<long double>(ns) <= std::exp2(k / 4.0L) * 1e9L)
      return static_cast<std::uint32_t>(k - IOCX_PUT_HIST_FIRST_K);
  return IOCX_PUT_HIST_SLOTS - 1;
}

TEST(PutHistogram, EdgesAreInclusive) {
  for (std::uint32_t slot = 0; slot + 1 < IOCX_PUT_HIST_SLOTS; ++slot) {
    const std::uint64_t edge = iocx_hist_edge_ns[slot + IOCX_PUT_HIST_SKIPPED];
    EXPECT_EQ(iocx_put_hist_slot(edge), slot);
    EXPECT_EQ(iocx_put_hist_slot(edge + 1), slot + 1);
    EXPECT_EQ(slot_by_definition(edge), slot);
    EXPECT_EQ(slot_by_definition(edge + 1), slot + 1);
  }
}

TEST(PutHistogram, Extremes) {
  EXPECT_EQ(iocx_put_hist_slot(0), 0u);
  EXPECT_EQ(iocx_put_hist_slot(953), 0u);  // 2^-20 s
  EXPECT_EQ(iocx_put_hist_slot(1'024'000'000'000), IOCX_PUT_HIST_SLOTS - 2u);
  EXPECT_EQ(iocx_put_hist_slot(1'024'000'000'001), IOCX_PUT_HIST_SLOTS - 1u);
  for (int bit = 41; bit < 64; ++bit)
    EXPECT_EQ(iocx_put_hist_slot(std::uint64_t{1} << bit), IOCX_PUT_HIST_SLOTS - 1u);
  EXPECT_EQ(iocx_put_hist_slot(~0ULL), IOCX_PUT_HIST_SLOTS - 1u);
}

TEST(PutHistogram, RandomDurationsFallWhereTheDefinitionSays) {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> exponent(0, 43);
  for (int i = 0; i < 200'000; ++i) {
    const auto ns = static_cast<std::uint64_t>(std::exp2(exponent(random)));
    ASSERT_EQ(iocx_put_hist_slot(ns), slot_by_definition(ns)) << ns;
  }
}

}  // namespace
