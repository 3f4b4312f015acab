#include "records/counters.h"

#include <array>
#include <cstddef>

namespace ioc_exporter::records {
namespace {

constexpr std::array kCounters = {
    &iocx_record_stats::processed,      &iocx_record_stats::sum_ns,
    &iocx_record_stats::self_ns,        &iocx_record_stats::untimed,
    &iocx_record_stats::skipped_active, &iocx_record_stats::skipped_disabled};

}  // namespace

PausedRecordEstimates::Counters counters_of(const iocx_record_stats& stats) {
  PausedRecordEstimates::Counters counters;
  std::uint32_t number = 0;
  const auto take = [&](std::uint64_t value) {
    if (value > 0) counters.emplace_back(number, value);
    ++number;
  };
  for (const auto counter : kCounters) take(stats.*counter);
  for (const std::uint64_t bucket : stats.buckets) take(bucket);
  return counters;
}

void add_counters(iocx_record_stats& to, const PausedRecordEstimates::Counters& counters) {
  for (const auto& [number, value] : counters) {
    if (number < kCounters.size())
      to.*kCounters[number] += value;
    else if (number - kCounters.size() < IOCX_HIST_SLOTS)
      to.buckets[number - kCounters.size()] += value;
  }
}

PausedRecordEstimates::Table counters_of(const std::vector<RawRecord>& records) {
  PausedRecordEstimates::Table table;
  table.reserve(records.size());
  for (const RawRecord& record : records) table.emplace(record.address, counters_of(record.stats));
  return table;
}

HiddenCounts hidden_counts(const PausedRecordEstimates& hidden, double progress) {
  HiddenCounts by_address;
  hidden.for_each(progress, [&](std::uint64_t address, PausedRecordEstimates::Counters counters) {
    by_address.emplace(address, std::move(counters));
  });
  return by_address;
}

}  // namespace ioc_exporter::records
