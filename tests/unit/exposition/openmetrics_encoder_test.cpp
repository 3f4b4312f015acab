#include "exposition/openmetrics_encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace ioc_exporter::exposition {
namespace {

constexpr Family kCounter{"x_total", FamilyType::counter, "What\nit \\ \"is\"."};

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

TEST(OpenMetricsEncoder, ExemplarsFollowTheValue) {
  OpenMetricsEncoder encoder;
  encoder.begin_family(kCounter);
  const EncodedLabels who = encoder.labels({{"client", "10.0.0.7"}});
  encoder.count(encoder.labels({{"ioc", "i"}}), 23, {.exemplar = Exemplar{who, 1, 1790000300.25}});
  encoder.count({}, 2, {.exemplar = Exemplar{{}, 1, 0}});
  const std::string text = encoder.take();
  EXPECT_NE(text.find("x_total{ioc=\"i\"} 23 # {client=\"10.0.0.7\"} 1 1790000300.250000\n"
                      "x_total 2 # {} 1\n"),
            std::string::npos)
      << text;
}

TEST(OpenMetricsEncoder, TellsWhenACounterWasZero) {
  OpenMetricsEncoder encoder;
  encoder.begin_family({"x_total", FamilyType::counter, "X."});
  const EncodedLabels who = encoder.labels({{"ioc", "i"}});
  encoder.count(who, 2, {.exemplar = Exemplar{{}, 1, 0}, .created_seconds = 1790000300.25});
  encoder.count(encoder.labels({{"ioc", "j"}}), 3, {});
  EXPECT_EQ(encoder.take(),
            "# TYPE x counter\n# HELP x X.\nx_total{ioc=\"i\"} 2 # {} 1\n"
            "x_created{ioc=\"i\"} 1790000300.250000\nx_total{ioc=\"j\"} 3\n# EOF\n");
}

TEST(OpenMetricsEncoder, NothingIsStillWhole) {
  EXPECT_EQ(OpenMetricsEncoder().take(), "# EOF\n");
}

}  // namespace
}  // namespace ioc_exporter::exposition
