// The counters of one record as numbered numbers, for records/pause_estimates.h. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "records/pass_model.h"
#include "records/pause_estimates.h"
#include "records/process.h"

namespace ioc_exporter::records {

using PausedRecordEstimates = PauseEstimates<std::uint64_t>;  // by the record's address

PausedRecordEstimates::Counters counters_of(const iocx_record_stats& stats);
void add_counters(iocx_record_stats& to, const PausedRecordEstimates::Counters& counters);

PausedRecordEstimates::Table counters_of(const std::vector<RawRecord>& records);

// What has set calls off, of each record that was called since `before`.
using TriggerCounts = std::unordered_map<std::uint64_t, iocx_record_triggers>;
TriggerCounts triggers_of(const std::vector<RawRecord>& records);
void add_triggers(PassModel::Calls& calls, const TriggerCounts& before,
                  const std::vector<RawRecord>& now);

// What was hidden of each record, by address; one of which nothing was hidden is not among them.
using HiddenCounts = PausedRecordEstimates::Table;
// `passes`: says what is known of the cycle under way.
HiddenCounts hidden_counts(const PausedRecordEstimates& hidden, double progress,
                           const PassModel& passes);

}  // namespace ioc_exporter::records
