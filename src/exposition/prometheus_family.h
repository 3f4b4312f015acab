// prometheus-cpp's families through our encoders.
#pragma once

#include <prometheus/metric_family.h>
#include <map>
#include <string>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

// Encodes a counter, gauge or untyped family; its timestamps are left out (a scrape sets them).
// False, with nothing encoded: a histogram or summary, whose shape the encoders do not take.
[[nodiscard]] bool encode(const prometheus::MetricFamily& family, Encoder& encoder);

// Of counters and gauges only.
void encode_all(const std::vector<prometheus::MetricFamily>& families, Encoder& encoder);

// FamilyBuilder: a prometheus::MetricFamily in which no label set stands twice.
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
