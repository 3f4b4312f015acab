#include "exposition/prometheus_family.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
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

FamilyBuilder::FamilyBuilder(prometheus::MetricType type, std::string name, std::string help,
                             Merge merge)
    : merge_(merge) {
  family_.type = type;
  family_.name = std::move(name);
  family_.help = std::move(help);
}

double& FamilyBuilder::value_of(prometheus::ClientMetric& metric) const {
  return family_.type == prometheus::MetricType::Counter ? metric.counter.value
                                                         : metric.gauge.value;
}

FamilyBuilder& FamilyBuilder::add(Labels labels, double value) {
  const auto [at, is_new] = index_.try_emplace(labels, family_.metric.size());
  if (is_new) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    value_of(metric) = value;
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  double& present = value_of(family_.metric[at->second]);
  present = merge_ == Merge::sum ? present + value : std::min(present, value);
  return *this;
}

void FamilyBuilder::append_to(std::vector<prometheus::MetricFamily>& families) {
  if (!family_.metric.empty()) families.push_back(std::move(family_));
}

}  // namespace ioc_exporter::exposition
