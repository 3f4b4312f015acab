// Families about records: epics_record_*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// RecordLabels: the labels `ioc` and `record` of all records of one IOC, made once and kept from
// scrape to scrape, as long as the IOC's database is the same.

// Immutable.
class RecordLabels {
 public:
  // `database` may be null: then there are no records.
  RecordLabels(const std::string& ioc, const Database* database,
               const exposition::Encoder& encoder);

  std::size_t records() const { return ends_.size() - 1; }
  // By the database's index of the record; records() and above: the name is not known.
  exposition::LabelView of(std::size_t record) const;

 private:
  std::string bytes_;              // of all records, one after the other
  std::vector<std::size_t> ends_;  // in bytes_; the last is that of record=""
};

// In any thread.
class LabelCache {
 public:
  // For the form of this encoder.
  std::shared_ptr<const RecordLabels> of(const IocSample& ioc, const exposition::Encoder& encoder);
  // Forgets databases that nobody else has any more.
  void drop_gone();

 private:
  // A database's address may be another's later: `database` shows it.
  using Key = std::tuple<const Database*, exposition::LabelForm, std::string>;
  struct Entry {
    std::weak_ptr<const Database> database;
    std::shared_ptr<const RecordLabels> labels;
  };

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

// The label that names a record, or the group or type in whose place it is shown.
inline exposition::Label record_label(const RecordIdentity& record) {
  if (record.all_of_type) return {"record_type", record.name};
  return {record.group ? "record_group" : "record", record.name};
}

// record="" where the name is not known.
inline exposition::Label record_label(const IocSample& ioc, std::uint32_t record) {
  if (!ioc.database || record >= ioc.database->records.size()) return {"record", ""};
  return record_label(ioc.database->records[record]);
}

// RecordRows: the series of one IOC's records, each with its labels (made once for all families)
// and its counts.

// Calls each(a, b) for all pairs of counters of two samples.
template <class A, class B, class Each>
void for_each_counter(A& a, B& b, Each each) {
  each(a.processed, b.processed);
  each(a.sum_ns, b.sum_ns);
  each(a.self_ns, b.self_ns);
  each(a.skipped_active, b.skipped_active);
  each(a.skipped_disabled, b.skipped_disabled);
  each(a.unwound, b.unwound);
  for (std::size_t i = 0; i < a.buckets.size(); ++i) each(a.buckets[i], b.buckets[i]);
  for (std::size_t i = 0; i < a.puts.size(); ++i) each(a.puts[i], b.puts[i]);
}

// Adds the counts of `more` to `sum`.
void add_counts(RecordSample& sum, const RecordSample& more);

struct RecordRow {
  exposition::LabelView labels;          // ioc, record
  const RecordSample* counts = nullptr;  // null: neither processed nor skipped
  std::string_view type;                 // "" for the row of unknown names
};

// One row for each record of the database, in its order, and one with record="" when there are
// counts whose record has no known name; those are summed. Points into the IocSample, which must
// outlive it.
class RecordRows {
 public:
  RecordRows(const IocSample& ioc, std::shared_ptr<const RecordLabels> labels);
  RecordRows(RecordRows&&) = default;  // addresses in sums_ survive a move, not a copy

  const std::vector<RecordRow>& rows() const { return rows_; }

 private:
  void add(std::size_t row, const RecordSample& sample);

  std::shared_ptr<const RecordLabels> labels_;
  std::vector<RecordRow> rows_;
  std::deque<RecordSample> sums_;  // of rows with several samples; a deque keeps addresses
};

// For all IOCs that are up. A record that was never processed has a process_total of 0 (so that
// increase() sees the first processing) and nothing else. `by_type`: the same IOCs with the sums
// that durations are shown of; null: of each record. `edges`: of kProcessScale.
void encode_records(const std::vector<const IocSample*>& iocs,
                    const std::vector<const IocSample*>* by_type,
                    const exposition::HistogramEdges& edges, LabelCache& cache,
                    exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
