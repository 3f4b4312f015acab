// SharedFamilies: families that more than one collector feeds, as puts by Channel Access and by PV
// Access. Each adds its series; once all have, every family is encoded once: series with the same
// labels merged, sorted by labels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

// A count, and when it was 0.
struct CountedSeries {
  std::uint64_t count = 0;
  double created_seconds = 0;  // as in Encoder::count()
};

class SharedFamilies {
 public:
  // A histogram of kPutScale.
  struct Durations {
    std::uint64_t sum_ns = 0;
    std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
  };

  // The family that add() adds to. `edges`: of a family of histograms.
  void begin(const Family& family, const HistogramEdges* edges = nullptr);
  // Of series with the same labels: their sum.
  void add(EncodedLabels labels, CountedSeries series);
  void add(EncodedLabels labels, const Durations& durations);
  // Of series with the same labels: the largest.
  void add(EncodedLabels labels, double value);

  // In the order in which they began first; afterwards there are none.
  void encode(Encoder& encoder);

 private:
  template <class Value>
  using SeriesList = std::vector<std::pair<EncodedLabels, Value>>;
  struct Kept {
    Family family;
    std::optional<HistogramEdges> edges;
    SeriesList<CountedSeries> counts = {};
    SeriesList<double> numbers = {};
    SeriesList<Durations> durations = {};
  };

  // Calls each(labels, value) once for every set of labels, sorted. Values with the same labels are
  // first put together by merge(into, other).
  template <class Value, class Merge, class Each>
  static void for_each_merged(SeriesList<Value>& series, Merge merge, Each each);

  std::vector<Kept> families_;
  std::size_t current_ = 0;  // index of the family that began last
};

}  // namespace ioc_exporter::exposition
