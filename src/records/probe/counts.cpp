#include "records/probe/counts.h"

#include <unordered_set>

namespace ioc_exporter::records {

void add_stats(iocx_record_stats& into, const iocx_record_stats& from) {
  into.processed += from.processed;
  into.sum_ns += from.sum_ns;
  into.self_ns += from.self_ns;
  into.untimed += from.untimed;
  into.skipped_active += from.skipped_active;
  into.skipped_disabled += from.skipped_disabled;
  into.unwound += from.unwound;
  for (std::size_t i = 0; i < IOCX_HIST_SLOTS; ++i) into.buckets[i] += from.buckets[i];
  for (std::size_t i = 0; i < IOCX_PUT_SOURCES; ++i) into.puts[i] += from.puts[i];
}

Result<void> RecordCounts::for_each(const Each& each) const {
  if (!outgrown_ && lines_.empty()) return records_->view.for_each(each);
  // Counts of a record beside its map.
  const auto add_others = [this](std::uint64_t address, iocx_record_stats& stats) {
    bool added = false;
    if (outgrown_)
      if (const auto before = outgrown_->find(address); before != outgrown_->end()) {
        add_stats(stats, before->second);
        added = true;
      }
    const auto lines = lines_.equal_range(address);
    for (auto line = lines.first; line != lines.second; ++line) {
      line->second.add_to(stats);
      added = true;
    }
    return added;
  };
  std::unordered_set<std::uint64_t> given;
  auto read = records_->view.for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
    iocx_record_stats sum = stats;
    if (add_others(address, sum)) given.insert(address);
    each(address, sum);
  });
  if (!read) return read;
  const auto give = [&](std::uint64_t address) {
    if (!given.insert(address).second) return;
    iocx_record_stats sum{};
    add_others(address, sum);
    each(address, sum);
  };
  if (outgrown_)
    for (const auto& [address, stats] : *outgrown_) give(address);
  for (const auto& [address, line] : lines_) give(address);
  return {};
}

}  // namespace ioc_exporter::records
