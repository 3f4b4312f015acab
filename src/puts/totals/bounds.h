// CaBounds: limits of the series of Channel Access; the rest is summed under "(other)", with the
// invariants of exposition/limited_series.h.
#pragma once

#include <mutex>
#include <vector>

#include "exposition/limited_series.h"
#include "exposition/limits.h"
#include "exposition/self_samples.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::ca {

// In any thread: one waits for the other.
class CaBounds {
 public:
  explicit CaBounds(const exposition::BoundsOptions& options);

  // From the next apply() on. Nothing that was counted is lost.
  void configure(const exposition::BoundsOptions& options);
  void apply(CaSamples& samples, const exposition::KnownIocs& known);
  exposition::EdgeStep edge_step();
  // Things without series of their own, by family.
  std::vector<LimitedSample> limited();

 private:
  void apply_to_puts(CaSamples& samples, const exposition::KnownIocs& known);
  void apply_to_failures(CaSamples& samples, const exposition::KnownIocs& known);
  void apply_to_durations(CaSamples& samples, const exposition::KnownIocs& known);
  void apply_to_clients(CaSamples& samples, const exposition::KnownIocs& known);
  void apply_to_network(CaSamples& samples, const exposition::KnownIocs& known);

  std::mutex mutex_;
  exposition::BoundsOptions options_;
  exposition::LimitedSeries puts_, failures_, durations_, pvs_, clients_, searches_, beacons_;
};

}  // namespace ioc_exporter::ca
