// HistogramEdges: which of the kernel's buckets the text formats show.
//
// An edge is named by k: its upper bound is 2^(k/4) seconds, inclusive, as in a Prometheus native
// histogram of schema 2 (prometheus/client_golang, histogram.go, nativeHistogramBounds).
#pragma once

#include <vector>

#include "util/result.h"

namespace ioc_exporter::metrics {

// 2^(k/4), the same double that Prometheus uses for that bound.
double edge_seconds(int k);

class HistogramEdges {
 public:
  // Every second power of two from 2^-20 s (954 ns) to 1 s: 11 edges.
  HistogramEdges();
  // `ks` must rise strictly and lie within kHistogramFirstK..kHistogramLastK. None at all is
  // allowed: then only +Inf is shown.
  static Result<HistogramEdges> from(std::vector<int> ks);

  const std::vector<int>& ks() const { return ks_; }

 private:
  explicit HistogramEdges(std::vector<int> ks) : ks_(std::move(ks)) {}

  std::vector<int> ks_;
};

}  // namespace ioc_exporter::metrics
