// IocEstimates: what was called in the pauses of one IOC that is looked at in slices of time: of
// all counters (records/pause_estimates.h), of calls by what sets them off (records/pass_model.h).
// Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "records/counters.h"
#include "records/pass_model.h"
#include "records/pause_estimates.h"
#include "records/process.h"

namespace ioc_exporter::records {

class IocEstimates {
 public:
  using Lists = PassModel::Lists;

  // The first cycle begins, or nothing holds any more that was learned of what sets records off.
  void learn_anew(const Lists& now, bool is_complete) { passes_.begin(now, is_complete); }
  // Whether the counters are known from which on the next slice counts.
  bool has_base() const { return hidden_.has_base(); }
  void set_base(const std::vector<RawRecord>& records);
  // Counting began, and ended, between the two readings of passes.
  void slice_began(const Lists& before, const Lists& after) { passes_.slice_began(before, after); }
  void slice_ended(const std::vector<RawRecord>& records, double seconds, const Lists& before,
                   const Lists& after);
  // Its counters could not be read.
  void slice_lost(const Lists& now);
  void cycle_ended(double seconds, const Lists& now);
  // No more cycles: what was hidden so far stays.
  void end();

  // Of each record that something was hidden of. `progress`: how much of the cycle under way is
  // over; `in_slice`: the counters as they are, while a slice is under way.
  HiddenCounts hidden(double progress, const Lists& now, const std::vector<RawRecord>* in_slice);
  // After end().
  HiddenCounts hidden() const { return hidden_counts(hidden_, 1, passes_); }
  // Records that are counted exactly by what sets them off.
  std::size_t known() const { return passes_.known(); }

 private:
  PausedRecordEstimates hidden_;
  PassModel passes_;
  TriggerCounts triggers_;  // when the slice began
};

}  // namespace ioc_exporter::records
