// Bounds: what of a snapshot is shown, so that a scrape stays within the site's limits.
//
// It goes between a snapshot and its encoding. Records and PVs that are left out by name have no
// series. Records may be shown by groups. Of each kind of thing so many have series of their own;
// what is over is summed up, for each IOC, in series with the label value "(other)". See
// limited_series.h for what holds of those sums.
#pragma once

#include <mutex>

#include "exposition/bounds_options.h"
#include "exposition/limited_series.h"
#include "records/bounds.h"
#include "base/samples.h"

namespace ioc_exporter::app {

// May be called by several threads: one waits for the other.
class Bounds {
 public:
  explicit Bounds(const exposition::BoundsOptions& options);

  // From the next apply() on. Nothing that was counted is lost.
  void configure(const exposition::BoundsOptions& options);
  void apply(Snapshot& snapshot);

 private:
  void apply_to_puts(Snapshot& snapshot);
  void apply_to_failures(Snapshot& snapshot);
  void apply_to_unexpected(Snapshot& snapshot);
  void apply_to_durations(Snapshot& snapshot);
  void apply_to_clients(Snapshot& snapshot);
  void apply_to_network(Snapshot& snapshot);
  void add_limited(Snapshot& snapshot) const;

  std::mutex mutex_;
  exposition::BoundsOptions options_;
  records::RecordBounds records_;
  exposition::LimitedSeries puts_, failures_, durations_, pvs_, clients_, searches_, beacons_, unexpected_;
};

}  // namespace ioc_exporter::app
