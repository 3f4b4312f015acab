#include "records/counters.h"

#include <array>
#include <cstddef>

namespace ioc_exporter::records {
namespace {

constexpr std::array kCounters = {
    &iocx_record_stats::processed,      &iocx_record_stats::sum_ns,
    &iocx_record_stats::self_ns,        &iocx_record_stats::untimed,
    &iocx_record_stats::skipped_active, &iocx_record_stats::skipped_disabled};

constexpr std::uint32_t kMostCalls = 1u << 31;  // in a slice

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

TriggerCounts triggers_of(const std::vector<RawRecord>& records) {
  TriggerCounts counts;
  for (const RawRecord& record : records)
    if (record.stats.triggers.trigger[0] != 0)
      counts.emplace(record.address, record.stats.triggers);
  return counts;
}

// One that has taken another's place began at 0, and so did all when the IOC got a larger table.
void add_triggers(PassModel::Calls& calls, const TriggerCounts& before,
                  const std::vector<RawRecord>& now) {
  for (const RawRecord& record : now) {
    const auto was = before.find(record.address);
    for (std::size_t i = 0; i < IOCX_RECORD_TRIGGERS; ++i) {
      const iocx_record_triggers& triggers = record.stats.triggers;
      const bool goes_on = was != before.end() && was->second.trigger[i] == triggers.trigger[i];
      std::uint32_t more = triggers.calls[i] - (goes_on ? was->second.calls[i] : 0);
      if (more > kMostCalls) more = triggers.calls[i];
      if (triggers.trigger[i] != 0 && more != 0)
        calls[record.address].by.emplace_back(triggers.trigger[i], more);
    }
  }
}

HiddenCounts hidden_counts(const PausedRecordEstimates& hidden, double progress,
                           const PassModel& passes) {
  HiddenCounts by_address;
  hidden.for_each(
      progress,
      [&](std::uint64_t address, PausedRecordEstimates::Counters counters) {
        by_address.emplace(address, std::move(counters));
      },
      [&](std::uint64_t address) { return passes.shown(address); });
  return by_address;
}

}  // namespace ioc_exporter::records
