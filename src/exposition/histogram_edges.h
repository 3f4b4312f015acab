// HistogramEdges: which of the kernel's buckets the text formats show.
//
// An edge is named by k: its upper bound is 2^(k/4) seconds, inclusive, as in a Prometheus native
// histogram of schema 2 (prometheus/client_golang, histogram.go, nativeHistogramBounds).
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "exposition/histogram_slots.h"

namespace ioc_exporter::exposition {

// 2^(k/4), the same double that Prometheus uses for that bound.
double edge_seconds(int k);

// The buckets that the kernel fills: slot i ends at k = first_k + i, the last slot holds
// durations above last_k.
struct HistogramScale {
  int first_k;
  int last_k;

  constexpr std::size_t slots() const { return static_cast<std::size_t>(last_k - first_k) + 2; }
  constexpr std::size_t slot(int k) const { return static_cast<std::size_t>(k - first_k); }
};
inline constexpr HistogramScale kProcessScale{kHistogramFirstK, kHistogramLastK};
inline constexpr HistogramScale kPutScale{kPutHistogramFirstK, kPutHistogramLastK};
static_assert(kProcessScale.slots() == kHistogramSlots);
static_assert(kPutScale.slots() == kPutHistogramSlots);

// From one edge that is shown to the next, in quarters of a power of two.
enum class EdgeStep : int { by_2 = 4, by_4 = 8, by_16 = 16 };
inline constexpr EdgeStep kUsualStep = EdgeStep::by_16;  // seven buckets with +Inf

class HistogramEdges {
 public:
  // From 2^-20 s (954 ns) to 1 s: edges of kProcessScale, by default every fourth power of two.
  explicit HistogramEdges(EdgeStep step = kUsualStep);
  // From 2^-14 s (61 us, about what an answer takes on loopback) to 2^6 s (a minute: motors and
  // ramps complete that late), of kPutScale.
  static HistogramEdges of_puts(EdgeStep step = kUsualStep);
  // From 2^-18 s (3.8 us) to 4 s, of kPutScale.
  static HistogramEdges of_scans(EdgeStep step = kUsualStep);
  // `ks` must rise strictly and lie within the scale. None at all is allowed: then only +Inf is
  // shown.
  static Result<HistogramEdges> from(std::vector<int> ks, HistogramScale scale = kProcessScale);

  const std::vector<int>& ks() const { return ks_; }
  const HistogramScale& scale() const { return scale_; }

 private:
  HistogramEdges(std::vector<int> ks, HistogramScale scale) : ks_(std::move(ks)), scale_(scale) {}

  std::vector<int> ks_;
  HistogramScale scale_ = kProcessScale;
};

}  // namespace ioc_exporter::exposition
