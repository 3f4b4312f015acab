#include "records/families/rows.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::records {

void add_counts(RecordSample& sum, const RecordSample& more) {
  for_each_counter(sum, more, [](std::uint64_t& to, std::uint64_t from) { to += from; });
}

RecordRows::RecordRows(const IocSample& ioc, std::shared_ptr<const RecordLabels> labels)
    : labels_(std::move(labels)) {
  const std::size_t known = labels_->records();
  const bool unknown = std::any_of(ioc.records.begin(), ioc.records.end(),
                                   [&](const RecordSample& s) { return s.record >= known; });
  rows_.resize(known + (unknown ? 1 : 0));
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].labels = labels_->of(i);
  for (std::size_t i = 0; i < known; ++i) {
    const RecordIdentity& record = ioc.database->records[i];
    if (record.type < ioc.database->types.size()) rows_[i].type = ioc.database->types[record.type];
  }
  for (const RecordSample& sample : ioc.records)
    add(std::min<std::size_t>(sample.record, known), sample);
}

void RecordRows::add(std::size_t row, const RecordSample& sample) {
  const RecordSample*& counts = rows_[row].counts;
  if (counts == nullptr) {
    counts = &sample;
    return;
  }
  const auto owned = std::find_if(sums_.begin(), sums_.end(),
                                  [&](const RecordSample& sum) { return &sum == counts; });
  RecordSample& sum = owned != sums_.end() ? *owned : sums_.emplace_back(*counts);
  add_counts(sum, sample);
  counts = &sum;
}

}  // namespace ioc_exporter::records
