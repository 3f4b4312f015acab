// prometheus-cpp's families through our encoders.
#pragma once

#include <prometheus/metric_family.h>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

// Encodes a counter, gauge or untyped family; its timestamps are left out (a scrape sets them).
// False, with nothing encoded: a histogram or summary, whose shape the encoders do not take.
[[nodiscard]] bool encode(const prometheus::MetricFamily& family, Encoder& encoder);

// Of counters and gauges only.
void encode_all(const std::vector<prometheus::MetricFamily>& families, Encoder& encoder);

// FamilyList: families of counters and gauges in which no label set stands twice.
class FamilyList {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  class Builder {
   public:
    template <class Number>
    Builder& add(Labels labels, Number value) {
      return add_number(std::move(labels), static_cast<double>(value));
    }

   private:
    friend class FamilyList;
    Builder& add_number(Labels labels, double value);

    prometheus::MetricFamily family_;
    bool is_flag_ = false;
    std::map<Labels, std::size_t> index_;
  };

  // Values with the same labels are summed; of flags the lower stands.
  Builder& counter(std::string name, std::string help);
  Builder& gauge(std::string name, std::string help);
  Builder& flag(std::string name, std::string help);

  // Has no series added.
  void add(const std::vector<prometheus::MetricFamily>& families) {
    for (const prometheus::MetricFamily& one : families) all_.emplace_back().family_ = one;
  }

  // Those that have a series, in the order in which they began.
  std::vector<prometheus::MetricFamily> take();

 private:
  Builder& begin(prometheus::MetricType type, std::string name, std::string help);

  std::deque<Builder> all_;
};

}  // namespace ioc_exporter::exposition
