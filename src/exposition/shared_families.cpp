#include "exposition/shared_families.h"

#include <algorithm>
#include <functional>

#include "exposition/number_text.h"

namespace ioc_exporter::exposition {
namespace {

// The sum was 0 when the first of its parts was; not known (0) when that of one part is not.
void add_counts(CountedSeries& sum, const CountedSeries& more) {
  sum.count += more.count;
  sum.created_seconds = std::min(sum.created_seconds, more.created_seconds);
}

void add_durations(SharedFamilies::Durations& sum, const SharedFamilies::Durations& more) {
  sum.sum_ns += more.sum_ns;
  std::ranges::transform(sum.buckets, more.buckets, sum.buckets.begin(), std::plus<>());
}

}  // namespace

template <class Value, class Merge, class Each>
void SharedFamilies::for_each_merged(SeriesList<Value>& series, Merge merge, Each each) {
  std::ranges::sort(
      series, {}, [](const auto& one) -> const auto& { return one.first; });
  for (std::size_t i = 0; i < series.size();) {
    auto& [labels, value] = series[i];
    for (++i; i < series.size() && series[i].first == labels; ++i) merge(value, series[i].second);
    each(labels, value);
  }
}

void SharedFamilies::begin(const Family& family, const HistogramEdges* edges) {
  for (current_ = 0; current_ < families_.size(); ++current_)
    if (families_[current_].family.name == family.name) return;
  families_.push_back({family, edges != nullptr ? std::optional(*edges) : std::nullopt});
}

void SharedFamilies::add(EncodedLabels labels, CountedSeries series) {
  families_[current_].counts.emplace_back(std::move(labels), series);
}

void SharedFamilies::add(EncodedLabels labels, const Durations& durations) {
  families_[current_].durations.emplace_back(std::move(labels), durations);
}

void SharedFamilies::add(EncodedLabels labels, double value) {
  families_[current_].numbers.emplace_back(std::move(labels), value);
}

void SharedFamilies::encode(Encoder& encoder) {
  for (Kept& one : families_) {
    if (one.edges)
      encoder.begin_histograms(one.family, *one.edges);
    else
      encoder.begin_family(one.family);
    for_each_merged(one.counts, add_counts,
                    [&encoder](const EncodedLabels& labels, const CountedSeries& series) {
                      encoder.count(labels, {}, series.count, series.created_seconds);
                    });
    for_each_merged(
        one.numbers, [](double& most, double more) { most = std::max(most, more); },
        [&encoder](const EncodedLabels& labels, double value) { encoder.number(labels, value); });
    for_each_merged(one.durations, add_durations,
                    [&encoder](const EncodedLabels& labels, const Durations& durations) {
                      encoder.histogram(labels, durations.buckets,
                                        seconds_from_ns(durations.sum_ns));
                    });
  }
  families_.clear();
}

}  // namespace ioc_exporter::exposition
