// The counters of one record as numbered numbers, for app/sliced_counts.h. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "records/pause_estimates.h"
#include "records/process.h"

namespace ioc_exporter::records {

using SlicedRecords = SlicedCounts<std::uint64_t>;  // by the record's address

SlicedRecords::Counters counters_of(const iocx_record_stats& stats);
void add_counters(iocx_record_stats& to, const SlicedRecords::Counters& counters);

SlicedRecords::Table counters_of(const std::vector<RawRecord>& records);

// What was hidden of each record, by address; one of which nothing was hidden is not among them.
using HiddenCounts = SlicedRecords::Table;
HiddenCounts hidden_counts(const SlicedRecords& hidden, double paused_seconds);

}  // namespace ioc_exporter::records
