// bpf/shared/histogram.h against floating point: the shape of records' durations, and that of
// puts'.
#include "shared/histogram.h"

#include <gtest/gtest.h>

#include <random>

namespace {

struct Shape {
  const char* name;
  std::uint32_t (*slot)(std::uint64_t ns);
  int first_k, last_k;
  std::uint32_t slots, skipped;  // `skipped`: edges of the table before its first one
  double largest;                // exponent of 2 of a random duration
};
const Shape kShapes[] = {
    {"Records", [](std::uint64_t ns) -> std::uint32_t { return iocx_hist_slot(ns); },
     IOCX_HIST_FIRST_K, IOCX_HIST_LAST_K, IOCX_HIST_SLOTS, 0, 34},
    {"Puts", [](std::uint64_t ns) -> std::uint32_t { return iocx_put_hist_slot(ns); },
     IOCX_PUT_HIST_FIRST_K, IOCX_PUT_HIST_LAST_K, IOCX_PUT_HIST_SLOTS, IOCX_PUT_HIST_SKIPPED, 43}};

class HistogramShape : public testing::TestWithParam<Shape> {
 protected:
  // The definition: the first slot whose upper edge, in seconds, is not below the duration.
  std::uint32_t by_definition(std::uint64_t ns) const {
    for (int k = shape_.first_k; k <= shape_.last_k; ++k)
      if (static_cast<long double>(ns) <= std::exp2(k / 4.0L) * 1e9L)
        return static_cast<std::uint32_t>(k - shape_.first_k);
    return shape_.slots - 1;
  }
  const Shape shape_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Of, HistogramShape, testing::ValuesIn(kShapes),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(HistogramShape, EdgesAreInclusive) {
  for (std::uint32_t slot = 0; slot + 1 < shape_.slots; ++slot) {
    const std::uint64_t edge = iocx_hist_edge_ns[slot + shape_.skipped];
    EXPECT_EQ(shape_.slot(edge), slot);
    EXPECT_EQ(shape_.slot(edge + 1), slot + 1);
    EXPECT_EQ(by_definition(edge), slot);
    EXPECT_EQ(by_definition(edge + 1), slot + 1);
  }
}

TEST_P(HistogramShape, RandomDurationsFallWhereTheDefinitionSays) {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> exponent(0, shape_.largest);
  for (int i = 0; i < 200'000; ++i) {
    const auto ns = static_cast<std::uint64_t>(std::exp2(exponent(random)));
    ASSERT_EQ(shape_.slot(ns), by_definition(ns)) << ns;
  }
}

TEST(Histogram, ExtremesOfRecords) {
  for (const std::uint64_t ns : {0u, 1u}) EXPECT_EQ(iocx_hist_slot(ns), 0u);
  EXPECT_EQ(iocx_hist_slot(4'000'000'000), IOCX_HIST_EDGES - 1u);
  for (const std::uint64_t ns : {4'000'000'001ull, 0xffffffffull, 0x100000000ull, ~0ull})
    EXPECT_EQ(iocx_hist_slot(ns), IOCX_HIST_SLOTS - 1u) << ns;
}

TEST(Histogram, ExtremesOfPuts) {
  for (const std::uint64_t ns : {0u, 953u}) EXPECT_EQ(iocx_put_hist_slot(ns), 0u);  // 2^-20 s
  EXPECT_EQ(iocx_put_hist_slot(1'024'000'000'000), IOCX_PUT_HIST_SLOTS - 2u);
  for (const std::uint64_t ns : {1'024'000'000'001ull, ~0ull})
    EXPECT_EQ(iocx_put_hist_slot(ns), IOCX_PUT_HIST_SLOTS - 1u) << ns;
  for (int bit = 41; bit < 64; ++bit)
    EXPECT_EQ(iocx_put_hist_slot(std::uint64_t{1} << bit), IOCX_PUT_HIST_SLOTS - 1u);
}

}  // namespace
