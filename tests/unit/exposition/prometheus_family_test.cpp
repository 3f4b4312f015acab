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

TEST(FamilyList, SameLabelsAreSummed) {
  FamilyList list;
  list.counter("x_total", "Help.").add({{"a", "1"}}, 20).add({{"a", "2"}}, 1).add({{"a", "1"}}, 3);
  EXPECT_EQ(
      encoded(list.take().at(0)),
      "# HELP x_total Help.\n# TYPE x_total counter\nx_total{a=\"1\"} 23\nx_total{a=\"2\"} 1\n");
}

TEST(FamilyList, OfFlagsTheLowerStands) {
  FamilyList list;
  list.flag("x", "Help.").add({}, true).add({}, false).add({}, true);
  EXPECT_EQ(encoded(list.take().at(0)), "# HELP x Help.\n# TYPE x gauge\nx 0\n");
}

TEST(FamilyList, WithoutSeriesThereIsNoFamily) {
  FamilyList list;
  list.gauge("x", "");
  EXPECT_TRUE(list.take().empty());
}

}  // namespace
}  // namespace ioc_exporter::exposition
