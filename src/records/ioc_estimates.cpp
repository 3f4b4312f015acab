#include "records/ioc_estimates.h"

#include <cstdint>

namespace ioc_exporter::records {

void IocEstimates::set_base(const std::vector<RawRecord>& records) {
  hidden_.begin(counters_of(records));
  triggers_ = triggers_of(records);
}

void IocEstimates::slice_ended(const std::vector<RawRecord>& records, double seconds,
                               const Lists& before, const Lists& after) {
  hidden_.slice_ended(counters_of(records), seconds);
  PassModel::Calls calls;
  hidden_.for_each_called(
      [&](std::uint64_t record, std::uint64_t count) { calls[record].calls = count; });
  add_triggers(calls, triggers_, records);
  triggers_ = triggers_of(records);
  passes_.slice_ended(before, after, calls);
}

void IocEstimates::slice_lost(const Lists& now) {
  hidden_.slice_lost();
  passes_.begin(now);
}

void IocEstimates::cycle_ended(double seconds, const Lists& now) {
  passes_.cycle_ended(now, hidden_.by_time(seconds));
  hidden_.cycle_ended(seconds, [this](std::uint64_t record, double by_time) {
    return passes_.hidden(record, by_time);
  });
}

void IocEstimates::end() {
  hidden_.keep([this](std::uint64_t record) { return passes_.shown(record); });
  hidden_.end();
  passes_.clear();
}

HiddenCounts IocEstimates::hidden(double progress, const Lists& now,
                                  const std::vector<RawRecord>* in_slice) {
  PassModel::Calls calls;
  if (in_slice != nullptr) {
    hidden_.for_each_called(counters_of(*in_slice), [&](std::uint64_t record, std::uint64_t count) {
      calls[record].calls = count;
    });
    add_triggers(calls, triggers_, *in_slice);
  }
  passes_.look(now, calls, progress);
  return hidden_counts(hidden_, progress, passes_);
}

}  // namespace ioc_exporter::records
