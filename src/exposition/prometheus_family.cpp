#include "exposition/prometheus_family.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

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

FamilyList::Builder& FamilyList::Builder::add_number(Labels labels, double value) {
  const auto [at, is_new] = index_.try_emplace(labels, family_.metric.size());
  if (is_new) family_.metric.emplace_back().label = std::move(labels);
  prometheus::ClientMetric& metric = family_.metric[at->second];
  const bool is_counter = family_.type == prometheus::MetricType::Counter;
  double& present = is_counter ? metric.counter.value : metric.gauge.value;
  present = is_flag_ && !is_new ? std::min(present, value) : present + value;
  return *this;
}

FamilyList::Builder& FamilyList::begin(prometheus::MetricType type, std::string name,
                                       std::string help) {
  Builder& builder = all_.emplace_back();
  builder.family_.type = type;
  builder.family_.name = std::move(name);
  builder.family_.help = std::move(help);
  return builder;
}

FamilyList::Builder& FamilyList::counter(std::string name, std::string help) {
  return begin(prometheus::MetricType::Counter, std::move(name), std::move(help));
}

FamilyList::Builder& FamilyList::gauge(std::string name, std::string help) {
  return begin(prometheus::MetricType::Gauge, std::move(name), std::move(help));
}

FamilyList::Builder& FamilyList::flag(std::string name, std::string help) {
  Builder& builder = gauge(std::move(name), std::move(help));
  builder.is_flag_ = true;
  return builder;
}

std::vector<prometheus::MetricFamily> FamilyList::take() {
  std::vector<prometheus::MetricFamily> families;
  for (Builder& one : all_)
    if (!one.family_.metric.empty()) families.push_back(std::move(one.family_));
  return families;
}

}  // namespace ioc_exporter::exposition
