// RecordLabels: the labels `ioc` and `record` of all records of one IOC, made once and kept from
// scrape to scrape, as long as the IOC's database is the same.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // A database's address may be another's later: `database` tells.
  using Key = std::tuple<const Database*, exposition::LabelForm, std::string>;
  struct Entry {
    std::weak_ptr<const Database> database;
    std::shared_ptr<const RecordLabels> labels;
  };

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

// The label that names a record, or the group in whose place it is shown.
inline exposition::Label record_label(const RecordIdentity& record) {
  return {record.group ? "record_group" : "record", record.name};
}

// record="" where the name is not known.
inline exposition::Label record_label(const IocSample& ioc, std::uint32_t record) {
  if (!ioc.database || record >= ioc.database->records.size()) return {"record", ""};
  return record_label(ioc.database->records[record]);
}

// Of the record that made another one process.
inline exposition::Label source_label(const IocSample& ioc, std::uint32_t record) {
  const exposition::Label label = record_label(ioc, record);
  return {label.name == "record" ? "source_record" : "source_record_group", label.value};
}

}  // namespace ioc_exporter::records
