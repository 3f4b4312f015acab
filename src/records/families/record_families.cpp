#include "records/families/record_families.h"

#include <algorithm>

#include "exposition/number_text.h"

namespace ioc_exporter::records {

RecordLabels::RecordLabels(const std::string& ioc, const Database* database,
                           const exposition::Encoder& encoder) {
  const auto add = [&](const exposition::Label& record) {
    bytes_ += encoder.labels({{"ioc", ioc}, record}).bytes;
    ends_.push_back(bytes_.size());
  };
  if (database != nullptr) {
    ends_.reserve(database->records.size() + 1);
    for (const RecordIdentity& record : database->records) add(record_label(record));
  }
  add({"record", ""});
  bytes_.shrink_to_fit();
}

exposition::LabelView RecordLabels::of(std::size_t record) const {
  const std::size_t index = std::min(record, records());
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return exposition::LabelView(std::string_view(bytes_).substr(begin, ends_[index] - begin));
}

std::shared_ptr<const RecordLabels> LabelCache::of(const IocSample& ioc,
                                                   const exposition::Encoder& encoder) {
  if (!ioc.database) return std::make_shared<const RecordLabels>(ioc.name, nullptr, encoder);
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{ioc.database.get(), encoder.label_form(), ioc.name}];
  if (entry.database.lock() != ioc.database)
    entry = {ioc.database,
             std::make_shared<const RecordLabels>(ioc.name, ioc.database.get(), encoder)};
  return entry.labels;
}

void LabelCache::drop_gone() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.database.expired(); });
}

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

namespace {

constexpr exposition::Family kProcess{
    "epics_record_process_total", exposition::FamilyType::counter,
    "Times that the record processed: calls of dbProcess that were not skipped, and processings "
    "without it (cause direct)."};
constexpr exposition::Family kDuration{
    "epics_record_process_duration_seconds", exposition::FamilyType::histogram,
    "Duration of dbProcess for the record, with the records that it processed "
    "in turn; sampled while epics_ioc_timed_ratio is below 1."};
constexpr exposition::Family kSelf{
    "epics_record_process_self_seconds_total", exposition::FamilyType::counter,
    "Time in dbProcess for the record, without the records that it processed in "
    "turn; sampled while epics_ioc_timed_ratio is below 1."};
constexpr exposition::Family kSkipped{
    "epics_record_process_skipped_total", exposition::FamilyType::counter,
    "Calls of dbProcess that processed nothing: the record was active (PACT) or "
    "disabled (DISA equal to DISV)."};
constexpr exposition::Family kUnwound{
    "epics_record_unwound_total", exposition::FamilyType::counter,
    "Timed calls of dbProcess for the record that did not return: an exception, longjmp or the end "
    "of their thread left them. The record's lock may be held for ever."};

// How much of a row's counts is read.
enum class Read { counters, all };

// The counts lie in the order of a hash table: a walk through the records finds none of them in
// the processor's cache, and would wait for each. So those of a row to come are asked for.
template <class Each>
void for_each_row(std::span<const RecordRows> tables, Read read, Each&& each) {
  constexpr std::size_t kCacheLine = 64;
  const std::size_t ahead = read == Read::all ? 2 : 16;
  const std::size_t bytes = read == Read::all ? sizeof(RecordSample) : kCacheLine;
  for (const RecordRows& table : tables) {
    const std::vector<RecordRow>& rows = table.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RecordSample* next = i + ahead < rows.size() ? rows[i + ahead].counts : nullptr;
      // Not a function of its own: GCC 12 takes one that only prefetches for one without effect.
      for (std::size_t at = 0; next != nullptr && at < bytes; at += kCacheLine)
        __builtin_prefetch(reinterpret_cast<const char*>(next) + at);
      each(rows[i]);
    }
  }
}

// No call takes no time.
bool was_timed(const RecordRow& row) {
  return row.counts && row.counts->sum_ns > 0;
}

void encode_processed(std::span<const RecordRows> tables, exposition::Encoder& encoder) {
  encoder.begin_family(kProcess);
  std::map<std::string_view, exposition::EncodedLabels> types;
  for_each_row(tables, Read::counters, [&](const RecordRow& row) {
    const std::uint64_t processed = row.counts ? row.counts->processed : 0;
    if (row.type.empty()) return encoder.count(row.labels, processed);
    exposition::EncodedLabels& type = types[row.type];
    if (type.bytes.empty()) type = encoder.labels({{"record_type", row.type}});
    encoder.count(row.labels, type, processed);
  });
}

void encode_skipped(std::span<const RecordRows> tables, exposition::Encoder& encoder) {
  encoder.begin_family(kSkipped);
  const exposition::EncodedLabels active = encoder.labels({{"reason", "active"}});
  const exposition::EncodedLabels disabled = encoder.labels({{"reason", "disabled"}});
  for_each_row(tables, Read::counters, [&](const RecordRow& row) {
    if (!row.counts) return;
    if (row.counts->skipped_active > 0)
      encoder.count(row.labels, active, row.counts->skipped_active);
    if (row.counts->skipped_disabled > 0)
      encoder.count(row.labels, disabled, row.counts->skipped_disabled);
  });
}

// Of those that are up and counted.
std::vector<RecordRows> tables_of(const std::vector<const IocSample*>& iocs, LabelCache& cache,
                                  const exposition::Encoder& encoder) {
  std::vector<RecordRows> tables;
  tables.reserve(iocs.size());
  for (const IocSample* ioc : iocs)
    if (ioc->up && !ioc->no_record_counts) tables.emplace_back(*ioc, cache.of(*ioc, encoder));
  return tables;
}

}  // namespace

void encode_records(const std::vector<const IocSample*>& iocs,
                    const std::vector<const IocSample*>* by_type,
                    const exposition::HistogramEdges& edges, LabelCache& cache,
                    exposition::Encoder& encoder) {
  const std::vector<RecordRows> tables = tables_of(iocs, cache, encoder);
  const std::vector<RecordRows> types =
      by_type != nullptr ? tables_of(*by_type, cache, encoder) : std::vector<RecordRows>();
  const auto& timed = by_type != nullptr ? types : tables;
  encode_processed(tables, encoder);
  encoder.begin_histograms(kDuration, edges);
  for_each_row(timed, Read::all, [&](const RecordRow& row) {
    if (was_timed(row))
      encoder.histogram(row.labels, row.counts->buckets,
                        exposition::seconds_from_ns(row.counts->sum_ns));
  });
  encoder.begin_family(kSelf);
  for_each_row(timed, Read::counters, [&](const RecordRow& row) {
    if (was_timed(row))
      encoder.number(row.labels, exposition::seconds_from_ns(row.counts->self_ns));
  });
  encode_skipped(tables, encoder);
  encoder.begin_family(kUnwound);
  for_each_row(tables, Read::counters, [&](const RecordRow& row) {
    if (row.counts && row.counts->unwound > 0) encoder.count(row.labels, row.counts->unwound);
  });
}

}  // namespace ioc_exporter::records
