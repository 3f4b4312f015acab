#include "records/counts.h"

#include <cstddef>
#include <unordered_set>

namespace ioc_exporter::records {

void add_stats(iocx_record_stats& into, const iocx_record_stats& from) {
  into.processed += from.processed;
  into.sum_ns += from.sum_ns;
  into.self_ns += from.self_ns;
  into.untimed += from.untimed;
  into.skipped_active += from.skipped_active;
  into.skipped_disabled += from.skipped_disabled;
  for (std::size_t i = 0; i < IOCX_HIST_SLOTS; ++i) into.buckets[i] += from.buckets[i];
  for (std::size_t i = 0; i < IOCX_PUT_SOURCES; ++i) into.puts[i] += from.puts[i];
}

Result<void> RecordCounts::for_each(const Each& each) const {
  if (!outgrown_) return records_->view.for_each(each);
  std::unordered_set<std::uint64_t> given;
  auto read = records_->view.for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
    const auto before = outgrown_->find(address);
    if (before == outgrown_->end()) return each(address, stats);
    given.insert(address);
    iocx_record_stats sum = stats;
    add_stats(sum, before->second);
    each(address, sum);
  });
  if (!read) return read;
  for (const auto& [address, stats] : *outgrown_)
    if (!given.contains(address)) each(address, stats);
  return {};
}

}  // namespace ioc_exporter::records
