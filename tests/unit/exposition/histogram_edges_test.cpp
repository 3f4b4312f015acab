#include "exposition/histogram_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/snapshot.h"

namespace ioc_exporter::exposition {
namespace {

TEST(HistogramEdges, PowersOfTwoAreExactAndTheOthersClose) {
  EXPECT_EQ(edge_seconds(-88), std::ldexp(1, -22));
  EXPECT_EQ(edge_seconds(-80), 9.5367431640625e-07);
  EXPECT_EQ(edge_seconds(0), 1.0);
  EXPECT_EQ(edge_seconds(8), 4.0);
  for (int k = kHistogramFirstK; k <= kHistogramLastK; ++k)
    EXPECT_DOUBLE_EQ(edge_seconds(k), std::pow(2.0, k / 4.0)) << k;
  EXPECT_EQ(edge_seconds(-1), 0.8408964152537144);  // as Prometheus has it
}

TEST(HistogramEdges, DefaultIsEverySecondPowerOfTwo) {
  EXPECT_THAT(HistogramEdges().ks(),
              testing::ElementsAre(-80, -72, -64, -56, -48, -40, -32, -24, -16, -8, 0));
}

TEST(HistogramEdges, StandAsFarApartAsWasAsked) {
  for (const EdgeStep step : {EdgeStep::by_2, EdgeStep::by_4, EdgeStep::by_16})
    for (const HistogramEdges& edges :
         {HistogramEdges(step), HistogramEdges::of_puts(step), HistogramEdges::of_scans(step)}) {
      const std::vector<int>& ks = edges.ks();
      ASSERT_EQ(ks.size(), 80 / static_cast<std::size_t>(step) + 1);
      EXPECT_EQ(ks.back() - ks.front(), 80) << "the same ends, however many are between";
      EXPECT_EQ(ks[1] - ks[0], static_cast<int>(step));
    }
}

TEST(HistogramEdges, PutsHaveTheirOwn) {
  EXPECT_THAT(HistogramEdges::of_puts().ks(),
              testing::ElementsAre(-56, -48, -40, -32, -24, -16, -8, 0, 8, 16, 24));
  EXPECT_EQ(edge_seconds(24), 64.0);
  EXPECT_TRUE(HistogramEdges::from({kPutHistogramLastK}, kPutScale).ok());
  EXPECT_EQ(HistogramEdges::from({41}, kPutScale).error().message(),
            "histogram edge 41: not within -80 to 40");
}

TEST(HistogramEdges, TakesWhatRisesWithinTheRange) {
  EXPECT_TRUE(HistogramEdges::from({kHistogramFirstK, 0, kHistogramLastK}).ok());
  EXPECT_TRUE(HistogramEdges::from({}).ok());
}

TEST(HistogramEdges, RefusesTheRestInWords) {
  EXPECT_EQ(HistogramEdges::from({0, 0}).error().message(), "histogram edge 0: given twice");
  EXPECT_EQ(HistogramEdges::from({0, -4}).error().message(),
            "histogram edge -4: stands after 0, edges must rise");
  EXPECT_EQ(HistogramEdges::from({9}).error().message(), "histogram edge 9: not within -88 to 8");
  EXPECT_EQ(HistogramEdges::from({-89}).error().message(),
            "histogram edge -89: not within -88 to 8");
}

}  // namespace
}  // namespace ioc_exporter::exposition
