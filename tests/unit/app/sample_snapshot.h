// A small snapshot in which every family has a series: for the golden scrape and the metric
// reference.
#pragma once

#include "support/snapshot.h"

namespace ioc_exporter::app {

// Slot of the bucket with upper edge 2^(k/4) s.
constexpr std::size_t slot_of(int k) {
  return static_cast<std::size_t>(k - kHistogramFirstK);
}

Snapshot sample_snapshot();
ExporterInfo sample_exporter();

}  // namespace ioc_exporter::app
