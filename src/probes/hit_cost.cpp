#include "probes/hit_cost.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bpf/empty_probe.h"
#include "probes/hit_target.h"
#include "probes/record_process.h"

namespace ioc_exporter::probes {
namespace {

constexpr std::uint32_t kCalls = 400;
constexpr int kRounds = 7;

// The median of several rounds: another process may have had the CPU in one of them.
Result<double> seconds_of_call(HitTarget& child) {
  if (auto warm = child.call(kCalls); !warm) return warm;
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    auto seconds = child.call(kCalls);
    if (!seconds) return seconds;
    rounds.push_back(*seconds);
  }
  const auto middle = rounds.begin() + kRounds / 2;
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

Result<double> seconds_with_empty_probe(HitTarget& child) {
  const RecordTarget target = child.target();
  auto probe = bpf::EmptyProbe::attach(target.attach_path, target.file.offset, target.pid);
  if (!probe) return std::move(probe).error();
  return seconds_of_call(child);
}

Result<double> seconds_with_record_probes(HitTarget& child, RecordProcess& records) {
  auto slot = records.watch(child.target());
  if (!slot) return std::move(slot).error();
  auto seconds = seconds_of_call(child);
  records.unwatch(*slot);
  return seconds;
}

}  // namespace

Result<HitCost> measure_hit_cost(RecordProcess& records) {
  auto child = HitTarget::start();
  if (!child) return std::move(child).error();
  auto nothing = seconds_of_call(*child);
  if (!nothing) return std::move(nothing).error();
  auto empty = seconds_with_empty_probe(*child);
  if (!empty) return std::move(empty).error();
  auto both = seconds_with_record_probes(*child, records);
  if (!both) return std::move(both).error();
  HitCost cost;
  cost.entry_seconds = *empty - *nothing;
  cost.return_seconds = *both - *empty;
  if (cost.entry_seconds <= 0 || cost.return_seconds <= 0)
    return error_in_words("measure the cost of a probe: a call with it takes no longer");
  return cost;
}

}  // namespace ioc_exporter::probes
