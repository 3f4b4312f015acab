// RecordCounts: where the counts of one IOC's records are, to be read later: without the lock that
// RecordProcess is under, and also when the IOC is no longer watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "records/families/samples.h"
#include "records/probe/process_object.h"
#include "records/probe/record_lines.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

class RecordCounts {
 public:
  using Table = std::unordered_map<std::uint64_t, iocx_record_stats>;  // by the record's address
  using Each = std::function<void(std::uint64_t address, const iocx_record_stats& stats)>;

  // `outgrown`: counts of smaller maps before this one; null: there was none. `lines`: those that
  // are counted beside the map.
  RecordCounts(std::shared_ptr<const OwnedRecordsMap> records,
               std::shared_ptr<const Table> outgrown, RecordLines::Table lines)
      : records_(std::move(records)), outgrown_(std::move(outgrown)), lines_(std::move(lines)) {}

  // Every record that was processed, skipped or written to since the IOC is watched, in any order,
  // none twice. After an error, some may have been given.
  Result<void> for_each(const Each& each) const;

 private:
  std::shared_ptr<const OwnedRecordsMap> records_;
  std::shared_ptr<const Table> outgrown_;
  RecordLines::Table lines_;
};

// Adds the counts of `from` to `into`.
void add_stats(iocx_record_stats& into, const iocx_record_stats& from);

// To add to.
inline std::shared_ptr<RecordCounts::Table> copy_of(
    const std::shared_ptr<const RecordCounts::Table>& table) {
  return table ? std::make_shared<RecordCounts::Table>(*table)
               : std::make_shared<RecordCounts::Table>();
}

// PendingRecords: one IOC whose records' counts are still to be read, for a page.
struct PendingRecords {
  std::size_t index = 0;  // of its sample on the page
  std::string subject;    // for the log
  RecordCounts counts;
  bool any_unknown = false;  // after read(): addresses that the database does not have

  // Needs no lock.
  Result<std::vector<RecordSample>> read(const Database& database) {
    RecordSamples samples(database);
    auto done = counts.for_each([&samples](std::uint64_t address, const iocx_record_stats& stats) {
      samples.add(address, stats);
    });
    if (!done) return done.error();
    any_unknown = samples.any_unknown();
    return samples.take();
  }
};

}  // namespace ioc_exporter::records
