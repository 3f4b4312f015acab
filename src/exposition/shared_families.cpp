#include "exposition/shared_families.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ioc_exporter::exposition {
namespace {

template <class Value>
void append(SeriesList<Value>& to, SeriesList<Value>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// The sum was 0 when the first of its parts was; not known (0) when that of one part is not.
void merge(CountedSeries& sum, CountedSeries& more) {
  sum.count += more.count;
  sum.created_seconds = std::min(sum.created_seconds, more.created_seconds);
  if (more.exemplar && (!sum.exemplar || sum.exemplar->time_seconds < more.exemplar->time_seconds))
    sum.exemplar = std::move(more.exemplar);
}

}  // namespace

SharedFamilies::Kept& SharedFamilies::kept(const Family& family) {
  for (Kept& one : families_)
    if (one.family.name == family.name) return one;
  return families_.emplace_back(Kept{family});
}

void SharedFamilies::add(const Family& family, SeriesList<CountedSeries> series) {
  append(kept(family).counts, series);
}

void SharedFamilies::add(const Family& family, SeriesList<double> series) {
  append(kept(family).numbers, series);
}

void SharedFamilies::encode(Encoder& encoder) {
  for (Kept& one : families_) {
    encoder.begin_family(one.family);
    for_each_merged(std::move(one.counts), merge,
                    [&encoder](const EncodedLabels& labels, const CountedSeries& series) {
                      CounterFacts facts{.created_seconds = series.created_seconds};
                      if (series.exemplar) facts.exemplar = series.exemplar->view();
                      encoder.count(labels, series.count, facts);
                    });
    for_each_merged(
        std::move(one.numbers), [](double& most, double more) { most = std::max(most, more); },
        [&encoder](const EncodedLabels& labels, double value) { encoder.number(labels, value); });
  }
  families_.clear();
}

}  // namespace ioc_exporter::exposition
