#include "exposition/prometheus_family.h"

#include <gtest/gtest.h>

#include "exposition/text_encoder.h"

namespace ioc_exporter::exposition {
namespace {

std::string encoded(const prometheus::MetricFamily& family) {
  TextEncoder encoder;
  EXPECT_TRUE(encode(family, encoder));
  return encoder.take();
}

prometheus::MetricFamily built(FamilyBuilder& builder) {
  std::vector<prometheus::MetricFamily> families;
  builder.append_to(families);
  return families.at(0);
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

TEST(PrometheusFamily, RefusesWhatHasNoSingleValue) {
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

TEST(FamilyBuilder, SameLabelsAreSummed) {
  FamilyBuilder builder(prometheus::MetricType::Counter, "x_total", "Help.",
                        FamilyBuilder::Merge::sum);
  builder.add({{"a", "1"}}, 20).add({{"a", "2"}}, 1).add({{"a", "1"}}, 3);
  EXPECT_EQ(
      encoded(built(builder)),
      "# HELP x_total Help.\n# TYPE x_total counter\nx_total{a=\"1\"} 23\nx_total{a=\"2\"} 1\n");
}

TEST(FamilyBuilder, OfFlagsTheLowerStands) {
  FamilyBuilder builder(prometheus::MetricType::Gauge, "x", "Help.", FamilyBuilder::Merge::lower);
  builder.add({}, 1).add({}, 0).add({}, 1);
  EXPECT_EQ(encoded(built(builder)), "# HELP x Help.\n# TYPE x gauge\nx 0\n");
}

TEST(FamilyBuilder, WithoutSeriesThereIsNoFamily) {
  std::vector<prometheus::MetricFamily> families;
  FamilyBuilder(prometheus::MetricType::Gauge, "x", "", FamilyBuilder::Merge::sum)
      .append_to(families);
  EXPECT_TRUE(families.empty());
}

}  // namespace
}  // namespace ioc_exporter::exposition
