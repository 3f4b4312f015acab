#include "records/hit_cost.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "kernel/empty_probe.h"
#include "records/hit_target.h"
#include "records/process.h"

namespace ioc_exporter::records {
namespace {

// Short rounds, and many of them: each is over before the scheduler takes the CPU away, so that on
// a host of any load there are some that nothing disturbed.
constexpr std::uint32_t kCalls = HitTarget::kRecords;
constexpr int kRounds = 48;
constexpr int kQuietRounds = 9;
// Longer than most values of --records.timed-rate leave a record untimed; with a lower one, the
// cost of a timed call is that of a record's first call, which is somewhat more.
constexpr std::chrono::milliseconds kQuiet{15};
constexpr double kNearlyAll = 0.9;

// The least of many rounds that do the same: all else is somebody else's doing (another process on
// the CPU, cold caches, a slow clock).
Result<double> seconds_of_call(HitTarget& child) {
  if (auto warm = child.call(kCalls); !warm) return warm;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    auto seconds = child.call(kCalls);
    if (!seconds) return seconds;
    least = std::min(least, *seconds);
  }
  return least;
}

Result<double> seconds_with_empty_probe(HitTarget& child) {
  auto target = child.target();
  if (!target) return std::move(target).error();
  auto probe = kernel::EmptyProbe::attach(target->code->attach_path(), target->offset, target->pid);
  if (!probe) return std::move(probe).error();
  return seconds_of_call(child);
}

// Calls in a row, and the hits that they made.
struct Calls {
  double seconds = 0;  // of one call
  double returns = 0;  // return probes that were hit at each entry probe
};

// Each record once, with what was hit meanwhile.
Result<Calls> one_round(HitTarget& child, const RecordProcess& records, std::uint32_t slot) {
  auto before = records.hits(slot);
  if (!before) return std::move(before).error();
  auto seconds = child.call(kCalls);
  if (!seconds) return std::move(seconds).error();
  auto after = records.hits(slot);
  if (!after) return std::move(after).error();
  if (after->entries <= before->entries)
    return error_in_words("measure the cost of a probe: it was not hit");
  return Calls{*seconds, static_cast<double>(after->returns - before->returns) /
                             static_cast<double>(after->entries - before->entries)};
}

// Rounds differ in how many of their calls are timed: each is taken with its own hits, and the
// least of those like it is what it costs. `timed`: only those that time nearly every call.
Result<std::optional<Calls>> least_round(int rounds, std::chrono::milliseconds quiet, bool timed,
                                         HitTarget& child, const RecordProcess& records,
                                         std::uint32_t slot) {
  std::optional<Calls> least;
  for (int i = 0; i < rounds; ++i) {
    if (quiet.count() > 0) std::this_thread::sleep_for(quiet);
    auto calls = one_round(child, records, slot);
    if (!calls) return std::move(calls).error();
    if (timed && calls->returns <= kNearlyAll) continue;
    if (!least || calls->seconds < least->seconds) least = *calls;
  }
  return least;
}

// Of dbProcess' probes; `nothing` and `empty`: a call without a probe, and with an empty one at its
// entry.
Result<HitCost> solve(const Calls& timed, const Calls& busy, double nothing, double empty) {
  HitCost cost;
  if (timed.returns == 0 && busy.returns == 0) {  // durations are off
    cost.entry_seconds = busy.seconds - nothing;
    return cost.entry_seconds > 0
               ? Result<HitCost>(cost)
               : error_in_words("measure the cost of a probe: a call with it takes no longer");
  }
  if (busy.returns > kNearlyAll) {  // every call has both: the empty probe says what is the entry's
    cost.entry_seconds = empty - nothing;
    cost.return_seconds = busy.seconds - empty;
  } else {
    cost.return_seconds = (timed.seconds - busy.seconds) / (timed.returns - busy.returns);
    cost.entry_seconds = busy.seconds - nothing - busy.returns * cost.return_seconds;
  }
  if (cost.entry_seconds > 0 && cost.return_seconds > 0) return cost;
  return error_in_words("measure the cost of a probe: a call with it takes no longer");
}

Result<HitCost> measure(HitTarget& child, RecordProcess& records, std::uint32_t slot,
                        double nothing, double empty) {
  auto first = one_round(child, records, slot);
  if (!first) return std::move(first).error();
  auto busy = least_round(kRounds, {}, false, child, records, slot);
  if (!busy) return std::move(busy).error();
  if (records.durations() == Durations::by_ends) {  // what the entry alone costs can be seen
    auto alone = records.end_window(slot, true);
    if (!alone) return std::move(alone).error();
    auto untimed = least_round(kRounds, {}, false, child, records, slot);
    if (!untimed) return std::move(untimed).error();
    return solve(**busy, **untimed, nothing, empty);
  }
  auto quiet = least_round(kQuietRounds, kQuiet, true, child, records, slot);
  if (!quiet) return std::move(quiet).error();
  return solve(quiet->value_or(*first), **busy, nothing, empty);
}

}  // namespace

Result<HitCost> measure_hit_cost(RecordProcess& records) {
  auto child = HitTarget::start();
  if (!child) return std::move(child).error();
  auto nothing = seconds_of_call(*child);
  if (!nothing) return std::move(nothing).error();
  auto empty = seconds_with_empty_probe(*child);
  if (!empty) return std::move(empty).error();
  auto target = child->target();
  if (!target) return std::move(target).error();
  auto slot = records.watch(*target);
  if (!slot) return std::move(slot).error();
  auto cost = measure(*child, records, *slot, *nothing, *empty);
  records.unwatch(*slot);
  return cost;
}

}  // namespace ioc_exporter::records
