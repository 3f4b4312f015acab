#include "exposition/family_builder.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::exposition {

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
