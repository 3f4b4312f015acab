// FamilyBuilder: a prometheus::MetricFamily in which no label set stands twice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace ioc_exporter::exposition {

class FamilyBuilder {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;
  enum class Merge { sum, lower };  // what two values with the same labels become

  // `type` is Counter or Gauge.
  FamilyBuilder(prometheus::MetricType type, std::string name, std::string help, Merge merge);

  FamilyBuilder& add(Labels labels, double value);

  // Moves the family to the end of `families` when it has a series; nothing is to be added
  // afterwards.
  void append_to(std::vector<prometheus::MetricFamily>& families);

 private:
  double& value_of(prometheus::ClientMetric& metric) const;

  prometheus::MetricFamily family_;
  Merge merge_;
  std::map<Labels, std::size_t> index_;
};

}  // namespace ioc_exporter::exposition
