// Families that several collectors fill, and those of prometheus-cpp.
#include <gtest/gtest.h>

#include "exposition/openmetrics_encoder.h"
#include "exposition/prometheus_family.h"
#include "exposition/shared_families.h"
#include "exposition/text_encoder.h"

namespace ioc_exporter::exposition {
namespace {

constexpr Family kCounts{"puts_total", FamilyType::counter, "Puts."};
constexpr Family kTimes{"last_put_seconds", FamilyType::gauge, "When."};

TEST(SharedFamilies, StandOnceOnThePageWithTheSeriesOfAll) {
  OpenMetricsEncoder encoder;
  SharedFamilies shared;
  const auto labels = [&encoder](const char* protocol) {
    return encoder.labels({{"protocol", protocol}});
  };
  shared.begin(kCounts);
  shared.add(labels("pva"), CountedSeries{2, 7});
  shared.begin(kTimes);
  shared.add(labels("pva"), 9);
  shared.begin(kCounts);
  shared.add(labels("ca"), CountedSeries{3, 5});
  shared.add(labels("ca"), CountedSeries{20, 6});
  shared.begin(kTimes);
  shared.add(labels("pva"), 4);
  shared.encode(encoder);
  EXPECT_EQ(encoder.take(),
            "# TYPE puts counter\n# HELP puts Puts.\n"
            "puts_total{protocol=\"ca\"} 23\n"
            "puts_created{protocol=\"ca\"} 5.000000\n"
            "puts_total{protocol=\"pva\"} 2\n"
            "puts_created{protocol=\"pva\"} 7.000000\n"
            "# TYPE last_put_seconds gauge\n# HELP last_put_seconds When.\n"
            "last_put_seconds{protocol=\"pva\"} 9\n"
            "# EOF\n");
}

std::string encoded(const prometheus::MetricFamily& family) {
  TextEncoder encoder;
  EXPECT_TRUE(encode(family, encoder));
  return encoder.take();
}

TEST(PrometheusFamily, CounterGaugeAndUntypedTakeTheirOwnValue) {
  prometheus::MetricFamily family;
  family.name = "x";
  family.help = "Help.";
  prometheus::ClientMetric metric;
  metric.label = {{"a", "1\n"}, {"b", ""}};
  metric.counter.value = 1;
  metric.gauge.value = 2;
  metric.untyped.value = 3;
  metric.timestamp_ms = 17;
  family.metric = {metric};
  const std::string start = "# HELP x Help.\n# TYPE x ";
  family.type = prometheus::MetricType::Counter;
  EXPECT_EQ(encoded(family), start + "counter\nx{a=\"1\\n\",b=\"\"} 1\n");
  family.type = prometheus::MetricType::Gauge;
  EXPECT_EQ(encoded(family), start + "gauge\nx{a=\"1\\n\",b=\"\"} 2\n");
  family.type = prometheus::MetricType::Untyped;
  EXPECT_EQ(encoded(family), start + "untyped\nx{a=\"1\\n\",b=\"\"} 3\n");
}

TEST(PrometheusFamily, RefusesHistogramsAndSummaries) {
  prometheus::MetricFamily family;
  family.name = "x";
  family.metric.resize(1);
  TextEncoder encoder;
  for (const auto type : {prometheus::MetricType::Histogram, prometheus::MetricType::Summary}) {
    family.type = type;
    EXPECT_FALSE(encode(family, encoder));
  }
  EXPECT_EQ(encoder.take(), "");
}

TEST(FamilyList, SameLabelsAreSummed) {
  FamilyList list;
  list.counter("x_total", "Help.").add({{"a", "1"}}, 20).add({{"a", "2"}}, 1).add({{"a", "1"}}, 3);
  EXPECT_EQ(
      encoded(list.take().at(0)),
      "# HELP x_total Help.\n# TYPE x_total counter\nx_total{a=\"1\"} 23\nx_total{a=\"2\"} 1\n");
}

TEST(FamilyList, MergedFlagsAreTheLowerAndWithoutSeriesThereIsNoFamily) {
  FamilyList list;
  list.gauge("none", "");
  list.flag("x", "Help.").add({}, true).add({}, false).add({}, true);
  const auto families = list.take();
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(encoded(families[0]), "# HELP x Help.\n# TYPE x gauge\nx 0\n");
}

}  // namespace
}  // namespace ioc_exporter::exposition
