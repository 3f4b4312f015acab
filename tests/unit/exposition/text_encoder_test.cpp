// Both text formats.
#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "exposition/openmetrics_encoder.h"
#include "exposition/text_encoder.h"
#include "unit/app/sample_snapshot.h"

namespace ioc_exporter::exposition {
namespace {

using Buckets = std::array<std::uint64_t, kHistogramSlots>;
using namespace app;

constexpr Family kCounter{"x_total", FamilyType::counter, "What\nit \\ \"is\"."};
constexpr Family kHistogram{"x_seconds", FamilyType::histogram, "Duration."};

TEST(TextEncoder, WritesHeaderOnceAndSeriesAndNothingOfAFamilyWithout) {
  TextEncoder encoder;
  const EncodedLabels a = encoder.labels({{"ioc", "a\"b"}, {"record", "r"}});
  const EncodedLabels more = encoder.labels({{"reason", "active"}});
  encoder.begin_family({"empty_total", FamilyType::counter, "Leaves no trace."});
  encoder.begin_family(kCounter);
  encoder.count(a, std::numeric_limits<std::uint64_t>::max());
  encoder.count(a, more, 1);
  encoder.count({}, more, 2);
  encoder.number({}, 0.5);
  encoder.begin_histograms(kHistogram, HistogramEdges());
  EXPECT_EQ(encoder.take(),
            "# HELP x_total What\\nit \\\\ \"is\".\n"
            "# TYPE x_total counter\n"
            "x_total{ioc=\"a\\\"b\",record=\"r\"} 18446744073709551615\n"
            "x_total{ioc=\"a\\\"b\",record=\"r\",reason=\"active\"} 1\n"
            "x_total{reason=\"active\"} 2\n"
            "x_total 0.5\n");
  EXPECT_EQ(encoder.take(), "");
}

TEST(TextEncoder, HistogramCountsEdgesInclusivelyAndTheRestInInfinity) {
  auto edges = HistogramEdges::from({-8, 0});
  ASSERT_TRUE(edges.ok());
  TextEncoder encoder;
  Buckets buckets{};
  buckets[0] = 1;
  buckets[slot_of(-8)] = 2;  // its edge is 0.25 s: within
  buckets[slot_of(-7)] = 4;  // the next
  buckets[slot_of(0)] = 8;   // up to 1 s
  buckets[slot_of(1)] = 16;
  buckets[slot_of(kHistogramLastK)] = 32;
  buckets[kHistogramSlots - 1] = 64;
  encoder.begin_histograms(kHistogram, *edges);
  encoder.histogram(encoder.labels({{"ioc", "i"}}), buckets, 23.5);
  encoder.histogram({}, Buckets{}, 0);
  EXPECT_EQ(encoder.take(),
            "# HELP x_seconds Duration.\n"
            "# TYPE x_seconds histogram\n"
            "x_seconds_bucket{ioc=\"i\",le=\"0.25\"} 3\n"
            "x_seconds_bucket{ioc=\"i\",le=\"1\"} 15\n"
            "x_seconds_bucket{ioc=\"i\",le=\"+Inf\"} 127\n"
            "x_seconds_sum{ioc=\"i\"} 23.5\n"
            "x_seconds_count{ioc=\"i\"} 127\n"
            "x_seconds_bucket{le=\"0.25\"} 0\n"
            "x_seconds_bucket{le=\"1\"} 0\n"
            "x_seconds_bucket{le=\"+Inf\"} 0\n"
            "x_seconds_sum 0\n"
            "x_seconds_count 0\n");
}

// Lines are written in steps of so many bytes: whatever the length, what stands behind is not
// theirs.
TEST(TextEncoder, LabelsOfEveryLength) {
  auto edges = HistogramEdges::from({-84, 0});
  ASSERT_TRUE(edges.ok());
  TextEncoder encoder;
  encoder.begin_histograms(kHistogram, *edges);
  std::string expected = "# HELP x_seconds Duration.\n# TYPE x_seconds histogram\n";
  for (std::size_t length = 0; length <= 97; ++length) {
    const std::string name(length, 'r');
    Buckets buckets{};
    buckets[0] = length;
    buckets[slot_of(0)] = length % 2 == 0 ? 1'000'000'007 : 0;
    encoder.histogram(encoder.labels({{"record", name}}), buckets, 0.5);
    const std::string labels = "record=\"" + name + "\"";
    const std::string all = std::to_string(length + buckets[slot_of(0)]);
    expected += "x_seconds_bucket{" + labels + ",le=\"4.76837158203125e-07\"} " +
                std::to_string(length) + "\n";
    expected += "x_seconds_bucket{" + labels + ",le=\"1\"} " + all + "\n";
    expected += "x_seconds_bucket{" + labels + ",le=\"+Inf\"} " + all + "\n";
    expected += "x_seconds_sum{" + labels + "} 0.5\n";
    expected += "x_seconds_count{" + labels + "} " + all + "\n";
  }
  EXPECT_EQ(encoder.take(), expected);
}

TEST(OpenMetricsEncoder, CountersLoseTheirSuffixInTheHeaderOnly) {
  OpenMetricsEncoder encoder;
  encoder.begin_family(kCounter);
  encoder.count(encoder.labels({{"ioc", "a\"b\\\n"}}), std::numeric_limits<std::uint64_t>::max());
  encoder.number({}, 0.5);
  EXPECT_EQ(encoder.take(),
            "# TYPE x counter\n"
            "# HELP x What\\nit \\\\ \\\"is\\\".\n"
            "x_total{ioc=\"a\\\"b\\\\\\n\"} 18446744073709551615\n"
            "x_total 0.5\n"
            "# EOF\n");
}

TEST(OpenMetricsEncoder, TheOtherTypes) {
  OpenMetricsEncoder encoder;
  encoder.begin_family({"g", FamilyType::gauge, "G."});
  encoder.count({}, 1);
  encoder.begin_family({"u", FamilyType::untyped, "U."});
  encoder.number({}, std::numeric_limits<double>::infinity());
  encoder.begin_family({"odd", FamilyType::counter, "Not named as a counter."});
  encoder.count({}, 2);
  encoder.begin_family({"empty", FamilyType::gauge, "Leaves no trace."});
  EXPECT_EQ(encoder.take(),
            "# TYPE g gauge\n# HELP g G.\ng 1\n"
            "# TYPE u unknown\n# HELP u U.\nu +Inf\n"
            "# TYPE odd unknown\n# HELP odd Not named as a counter.\nodd 2\n"
            "# EOF\n");
}

TEST(OpenMetricsEncoder, EdgesThatAreWholeNumbersHaveAFraction) {
  OpenMetricsEncoder encoder;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};
  buckets[kPutScale.slot(0)] = 23;
  buckets[kPutHistogramSlots - 1] = 1;
  encoder.begin_histograms({"x_seconds", FamilyType::histogram, "Duration."},
                           *HistogramEdges::from({-80, -4, 0, 24}, kPutScale));
  encoder.histogram(encoder.labels({{"ioc", "i"}}), buckets, 23.5);
  EXPECT_EQ(encoder.take(),
            "# TYPE x_seconds histogram\n# HELP x_seconds Duration.\n"
            "x_seconds_bucket{ioc=\"i\",le=\"9.5367431640625e-07\"} 0\n"
            "x_seconds_bucket{ioc=\"i\",le=\"0.5\"} 0\n"
            "x_seconds_bucket{ioc=\"i\",le=\"1.0\"} 23\n"
            "x_seconds_bucket{ioc=\"i\",le=\"64.0\"} 23\n"
            "x_seconds_bucket{ioc=\"i\",le=\"+Inf\"} 24\n"
            "x_seconds_sum{ioc=\"i\"} 23.5\n"
            "x_seconds_count{ioc=\"i\"} 24\n"
            "# EOF\n");
}

TEST(OpenMetricsEncoder, TellsWhenACounterWasZeroButNotOfOldOnes) {
  OpenMetricsEncoder encoder(1790000300);
  encoder.begin_family({"x_total", FamilyType::counter, "X."});
  encoder.count(encoder.labels({{"ioc", "old"}}), {}, 2, 1790000300);
  encoder.count(encoder.labels({{"ioc", "new"}}), {}, 3, 1790000300.25);
  encoder.count(encoder.labels({{"ioc", "j"}}), 4);
  EXPECT_EQ(encoder.take(),
            "# TYPE x counter\n# HELP x X.\nx_total{ioc=\"old\"} 2\nx_total{ioc=\"new\"} 3\n"
            "x_created{ioc=\"new\"} 1790000300.250000\nx_total{ioc=\"j\"} 4\n# EOF\n");
  EXPECT_EQ(OpenMetricsEncoder().take(), "# EOF\n") << "nothing is still whole";
}

}  // namespace
}  // namespace ioc_exporter::exposition
