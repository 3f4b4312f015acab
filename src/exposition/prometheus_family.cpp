#include "exposition/prometheus_family.h"

#include <cassert>
#include <optional>
#include <vector>

namespace ioc_exporter::exposition {
namespace {

std::optional<FamilyType> family_type(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return FamilyType::counter;
    case prometheus::MetricType::Gauge:
      return FamilyType::gauge;
    case prometheus::MetricType::Untyped:
      return FamilyType::untyped;
    case prometheus::MetricType::Summary:
    case prometheus::MetricType::Histogram:
      break;
  }
  return {};
}

double value_of(const prometheus::ClientMetric& metric, FamilyType type) {
  if (type == FamilyType::counter) return metric.counter.value;
  if (type == FamilyType::gauge) return metric.gauge.value;
  return metric.untyped.value;
}

}  // namespace

bool encode(const prometheus::MetricFamily& family, Encoder& encoder) {
  const auto type = family_type(family.type);
  if (!type) return false;
  encoder.begin_family({family.name, *type, family.help});
  std::vector<Label> labels;
  for (const prometheus::ClientMetric& metric : family.metric) {
    labels.clear();
    for (const auto& label : metric.label) labels.push_back({label.name, label.value});
    encoder.number(encoder.labels(labels), value_of(metric, *type));
  }
  return true;
}

void encode_all(const std::vector<prometheus::MetricFamily>& families, Encoder& encoder) {
  for (const prometheus::MetricFamily& family : families) {
    [[maybe_unused]] const bool encoded = encode(family, encoder);
    assert(encoded);
  }
}

}  // namespace ioc_exporter::exposition
