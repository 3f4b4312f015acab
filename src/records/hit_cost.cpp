#include "records/hit_cost.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/empty_probe.h"
#include "records/hit_target.h"
#include "records/process.h"

namespace ioc_exporter::records {
namespace {

constexpr std::uint32_t kCalls = 400;
constexpr int kRounds = 7;
// Longer than most values of --records.timed-rate leave a record untimed; with a lower one, the
// cost of a timed call is that of a record's first call, which is somewhat more.
constexpr std::chrono::milliseconds kQuiet{15};
constexpr double kNearlyAll = 0.9;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median of several rounds: another process may have had the CPU in one of them.
Result<double> seconds_of_call(HitTarget& child) {
  if (auto warm = child.call(kCalls); !warm) return warm;
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    auto seconds = child.call(kCalls);
    if (!seconds) return seconds;
    rounds.push_back(*seconds);
  }
  return median(std::move(rounds));
}

Result<double> seconds_with_empty_probe(HitTarget& child) {
  const RecordTarget target = child.target();
  auto probe = kernel::EmptyProbe::attach(target.attach_path, target.file.offset, target.pid);
  if (!probe) return std::move(probe).error();
  return seconds_of_call(child);
}

// Calls in a row, and the hits that they made.
struct Calls {
  double seconds = 0;  // of one call
  double returns = 0;  // return probes that were hit at each entry probe
};

Result<ProbeHits> hits_of(const RecordProcess& records, std::uint32_t slot) {
  auto hits = records.hits();
  if (!hits) return std::move(hits).error();
  const auto found = hits->find(slot);
  return found == hits->end() ? ProbeHits{} : found->second;
}

template <class Work>
Result<Calls> with_hits(const RecordProcess& records, std::uint32_t slot, Work&& work) {
  auto before = hits_of(records, slot);
  if (!before) return std::move(before).error();
  auto seconds = work();
  if (!seconds) return std::move(seconds).error();
  auto after = hits_of(records, slot);
  if (!after) return std::move(after).error();
  if (after->entries <= before->entries)
    return error_in_words("measure the cost of a probe: it was not hit");
  return Calls{*seconds, static_cast<double>(after->returns - before->returns) /
                             static_cast<double>(after->entries - before->entries)};
}

// Each record once, after it was left in peace for so long that its next call is timed.
Result<double> seconds_of_quiet_call(HitTarget& child) {
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    std::this_thread::sleep_for(kQuiet);
    auto seconds = child.call(HitTarget::kRecords);
    if (!seconds) return seconds;
    rounds.push_back(*seconds);
  }
  return median(std::move(rounds));
}

// Of dbProcess' probes; `nothing` and `empty`: a call without a probe, and with an empty one at its
// entry.
Result<HitCost> solve(const Calls& first, const Calls& busy, const Calls& quiet, double nothing,
                      double empty) {
  HitCost cost;
  const Calls& timed = quiet.returns > kNearlyAll ? quiet : first;
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

Result<HitCost> measure(HitTarget& child, const RecordProcess& records, std::uint32_t slot,
                        double nothing, double empty) {
  auto first = with_hits(records, slot, [&] { return child.call(HitTarget::kRecords); });
  if (!first) return std::move(first).error();
  auto busy = with_hits(records, slot, [&] { return seconds_of_call(child); });
  if (!busy) return std::move(busy).error();
  auto quiet = with_hits(records, slot, [&] { return seconds_of_quiet_call(child); });
  if (!quiet) return std::move(quiet).error();
  return solve(*first, *busy, *quiet, nothing, empty);
}

}  // namespace

Result<HitCost> measure_hit_cost(RecordProcess& records) {
  auto child = HitTarget::start();
  if (!child) return std::move(child).error();
  auto nothing = seconds_of_call(*child);
  if (!nothing) return std::move(nothing).error();
  auto empty = seconds_with_empty_probe(*child);
  if (!empty) return std::move(empty).error();
  auto slot = records.watch(child->target());
  if (!slot) return std::move(slot).error();
  auto cost = measure(*child, records, *slot, *nothing, *empty);
  records.unwatch(*slot);
  return cost;
}

}  // namespace ioc_exporter::records
