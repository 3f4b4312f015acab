// The counters of one record as numbered numbers, for records/pause_estimates.h. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "records/pause_estimates.h"
#include "records/process.h"

namespace ioc_exporter::records {

using PausedRecordEstimates = PauseEstimates<std::uint64_t>;  // by the record's address

PausedRecordEstimates::Counters counters_of(const iocx_record_stats& stats);
void add_counters(iocx_record_stats& to, const PausedRecordEstimates::Counters& counters);

PausedRecordEstimates::Table counters_of(const std::vector<RawRecord>& records);

// What was hidden of each record, by address; one of which nothing was hidden is not among them.
using HiddenCounts = PausedRecordEstimates::Table;
HiddenCounts hidden_counts(const PausedRecordEstimates& hidden, double progress);

}  // namespace ioc_exporter::records
