// The same series through prometheus-cpp: its model, to be served by its Exposer.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "exposition/number_text.h"
#include "scrape_load.h"

namespace scrape_bench {

class PrometheusCpp final : public prometheus::Collectable {
 public:
  PrometheusCpp(const records::RecordCounts& counts, std::shared_ptr<const Database> database)
      : counts_(counts), database_(std::move(database)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const Snapshot snapshot = read_snapshot(counts_, database_);
    using prometheus::MetricType;
    std::vector<prometheus::MetricFamily> families(4);
    families[0] = {
        "epics_record_process_total", "Times that it processed.", MetricType::Counter, {}};
    families[1] = {"epics_record_process_duration_seconds",
                   "Duration of dbProcess.",
                   MetricType::Histogram,
                   {}};
    families[2] = {
        "epics_record_process_self_seconds_total", "Time in dbProcess.", MetricType::Counter, {}};
    families[3] = {"epics_record_process_skipped_total",
                   "Calls that processed nothing.",
                   MetricType::Counter,
                   {}};
    for (const RecordSample& sample : snapshot.iocs[0].records) add(sample, families);
    return families;
  }

 private:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  void add(const RecordSample& sample, std::vector<prometheus::MetricFamily>& families) const {
    const RecordIdentity& record = database_->records[sample.record];
    const Labels labels{{"ioc", "bench"}, {"record", record.name}};
    const auto metric = [&](std::size_t family, const char* name,
                            const std::string& value) -> prometheus::ClientMetric& {
      auto& one = families[family].metric.emplace_back();
      one.label = labels;
      if (name != nullptr) one.label.push_back({name, value});
      return one;
    };
    metric(0, "record_type", database_->types[record.type]).counter.value =
        static_cast<double>(sample.processed);
    fill(metric(1, nullptr, "").histogram, sample);
    metric(2, nullptr, "").counter.value = exposition::seconds_from_ns(sample.self_ns);
    metric(3, "reason", "active").counter.value = static_cast<double>(sample.skipped_active);
    metric(3, "reason", "disabled").counter.value = static_cast<double>(sample.skipped_disabled);
  }

  void fill(prometheus::ClientMetric::Histogram& histogram, const RecordSample& sample) const {
    std::uint64_t cumulative = 0;
    std::size_t slot = 0;
    for (const int k : edges_.ks()) {
      for (; slot <= edges_.scale().slot(k); ++slot) cumulative += sample.buckets[slot];
      histogram.bucket.push_back({cumulative, exposition::edge_seconds(k)});
    }
    for (; slot < sample.buckets.size(); ++slot) cumulative += sample.buckets[slot];
    histogram.bucket.push_back({cumulative, std::numeric_limits<double>::infinity()});
    histogram.sample_count = cumulative;
    histogram.sample_sum = exposition::seconds_from_ns(sample.sum_ns);
  }

  records::RecordCounts counts_;
  std::shared_ptr<const Database> database_;
  exposition::HistogramEdges edges_;
};

}  // namespace scrape_bench
