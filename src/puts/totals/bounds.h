// PutBounds: limits of the series of puts and of Channel Access; the others are summed under
// "(other)", with the invariants of exposition/limited_series.h.
#pragma once

#include <mutex>
#include <vector>

#include "exposition/limited_series.h"
#include "exposition/limits.h"
#include "exposition/self_samples.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

// In any thread: one waits for the other.
class PutBounds {
 public:
  // Of the samples of one protocol.
  explicit PutBounds(const exposition::BoundsOptions& options, bool by_pva = false)
      : by_pva_(by_pva) {
    configure(options);
  }

  // From the next apply() on. Nothing that was counted is lost.
  void configure(const exposition::BoundsOptions& options);
  void apply(PutsSamples& samples, const exposition::KnownIocs& known);
  exposition::EdgeStep edge_step();
  // Things without series of their own, by family.
  std::vector<LimitedSample> limited();

 private:
  using LimitedSeries = exposition::LimitedSeries;
  struct Kind {
    const char* family;
    exposition::SeriesLimit exposition::SeriesLimits::*limit;
    LimitedSeries PutBounds::*series;
  };
  static const Kind kKinds[7];
  static constexpr std::size_t kDurationValues = 1 + kPutHistogramSlots;

  bool is_of_site() const { return options_.set == exposition::SeriesSet::site; }
  void apply_to_puts(PutsSamples& samples, const exposition::KnownIocs& known);
  void apply_to_pvs(PutsSamples& samples, const exposition::KnownIocs& known);

  const bool by_pva_;
  std::mutex mutex_;
  exposition::BoundsOptions options_;
  LimitedSeries puts_{LimitedSeries::Kind::counter, 2};  // write, write_notify
  LimitedSeries failures_{LimitedSeries::Kind::counter, 1};
  LimitedSeries durations_{LimitedSeries::Kind::counter, kDurationValues};
  LimitedSeries pvs_{LimitedSeries::Kind::gauge, 0};
  LimitedSeries clients_{LimitedSeries::Kind::gauge, 3};
  LimitedSeries searches_{LimitedSeries::Kind::counter, 1};
  LimitedSeries beacons_{LimitedSeries::Kind::counter, 1};
};

}  // namespace ioc_exporter::puts
