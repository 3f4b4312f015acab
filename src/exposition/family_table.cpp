#include "exposition/family_table.h"

#include <algorithm>

#include "exposition/number_text.h"

namespace ioc_exporter::exposition {

EncodedLabels Series::all_labels(std::initializer_list<Label> more) const {
  EncodedLabels all{std::string(labels_.bytes)};
  const EncodedLabels last = encoder_.labels(more);
  const bool comma = encoder_.label_form() == LabelForm::text && !all.bytes.empty();
  if (comma && !last.bytes.empty()) all.bytes += ',';
  all.bytes += last.bytes;
  return all;
}

void Series::begin(const Family& family, const HistogramEdges* edges) {
  if (family.type != FamilyType::histogram) edges = nullptr;
  if (merged_ != nullptr)
    merged_->begin(family, edges);
  else if (edges != nullptr)
    direct_->begin_histograms(family, *edges);
  else
    direct_->begin_family(family);
}

void Series::add_count(std::initializer_list<Label> more, CountedSeries series) {
  if (merged_ != nullptr)
    merged_->add(all_labels(more), std::move(series));
  else
    direct_->count(labels_, encoder_.labels(more), series.count, series.created_seconds);
}

void Series::add_number(std::initializer_list<Label> more, double value, double created_seconds) {
  if (merged_ != nullptr)
    merged_->add(all_labels(more), value);
  else
    direct_->number(labels_, encoder_.labels(more), value, created_seconds);
}

void Series::add_histogram(std::initializer_list<Label> more,
                           std::span<const std::uint64_t> buckets, std::uint64_t sum_ns) {
  if (merged_ == nullptr) {
    direct_->histogram(all_labels(more), buckets, seconds_from_ns(sum_ns));
    return;
  }
  SharedFamilies::Durations durations{.sum_ns = sum_ns};
  std::copy_n(buckets.begin(), std::min(buckets.size(), durations.buckets.size()),
              durations.buckets.begin());
  merged_->add(all_labels(more), durations);
}

}  // namespace ioc_exporter::exposition
