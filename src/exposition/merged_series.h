// Series in the order of their labels, none twice: what the formats ask for, whatever the samples
// were.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

template <class Value>
using SeriesList = std::vector<std::pair<EncodedLabels, Value>>;

// Calls each(labels, value) once for every set of labels, sorted. Values with the same labels are
// first put together by merge(into, other).
template <class Value, class Merge, class Each>
void for_each_merged(SeriesList<Value> series, Merge merge, Each each) {
  std::sort(series.begin(), series.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < series.size();) {
    auto& [labels, value] = series[i];
    for (++i; i < series.size() && series[i].first == labels; ++i) merge(value, series[i].second);
    each(labels, value);
  }
}

// Encodes a family of counts; counts with the same labels are summed.
inline void encode_counts(const Family& family, SeriesList<std::uint64_t> series,
                          Encoder& encoder) {
  encoder.begin_family(family);
  for_each_merged(
      std::move(series), [](std::uint64_t& sum, std::uint64_t more) { sum += more; },
      [&encoder](const EncodedLabels& labels, std::uint64_t count) {
        encoder.count(labels, count);
      });
}

}  // namespace ioc_exporter::exposition
