#include "records/probe/extra_probes.h"

#include <iterator>
#include <map>
#include <utility>

#include "exposition/number_text.h"

namespace ioc_exporter::records {

Result<RecordCauses> RecordCauses::read(const RecordProcess& records) {
  auto counts = records.counts();
  if (!counts) return std::move(counts).error();
  auto causes = records.causes();
  if (!causes) return std::move(causes).error();
  RecordCauses all;
  all.counts_ = std::move(*counts);
  all.causes_ = std::move(*causes);
  return all;
}

ProbeHits RecordCauses::hits(std::uint32_t slot) const {
  const auto counts = counts_.find(slot);
  return counts == counts_.end() ? ProbeHits{} : counts->second.hits;
}

void RecordCauses::add_to(std::uint32_t slot, IocSample& sample) const {
  if (const auto counts = counts_.find(slot); counts != counts_.end())
    sample.processing = ProcessingSample{counts->second.causes, counts->second.threads,
                                         counts->second.timed, counts->second.transitions};
  const Database& database = *sample.database;
  if (const auto causes = causes_.find(slot); causes != causes_.end())
    for (const RawCause& raw : causes->second)
      sample.record_causes.push_back({record_index(database, raw.address), raw.cause, raw.count});
}

namespace {

void keep_first(Result<void>& problem, Result<void> result) {
  if (problem && !result) problem = std::move(result);
}

ScanTimeSample to_sample(const iocx_scan_list& list, const WallClock& clock) {
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  const std::string_view name(list.comm, ::strnlen(list.comm, sizeof list.comm));
  ScanPeriod period = scan_period(name);
  ScanTimeSample sample;
  sample.period = std::move(period.text);
  sample.period_seconds = period.seconds;
  sample.last_time_seconds = clock.seconds(list.end_ns);
  sample.age_seconds =
      exposition::seconds_from_ns(now_ns - std::min<std::uint64_t>(list.end_ns, now_ns));
  sample.sum_ns = list.sum_ns;
  std::copy(std::begin(list.buckets), std::end(list.buckets), sample.buckets.begin());
  return sample;
}

CompletionSample to_sample(const iocx_completion& completion, std::uint32_t record) {
  CompletionSample sample;
  sample.record = record;
  sample.sum_ns = completion.sum_ns;
  std::copy(std::begin(completion.buckets), std::end(completion.buckets), sample.buckets.begin());
  return sample;
}

}  // namespace

Result<void> ExtraProbes::read(const std::vector<Watched>& watched) {
  Result<void> problem;
  for (const Watched& one : watched)
    if (records_.completion(one.slot)) keep_first(problem, follow_completions(one));
  return problem;
}

Result<void> ExtraProbes::begin_page() {
  wall_clock_.update(WallClock::read());
  auto lists = read_scan_lists(records_.object().maps());
  if (!lists) return lists.error();
  scan_lists_ = std::move(*lists);
  return {};
}

Result<void> ExtraProbes::add_to(IocSample& sample, std::uint32_t slot) const {
  if (!sample.database) return {};
  if (const auto since = records_.direct_since(slot))
    sample.direct_since_seconds = wall_clock_.seconds(kernel_ns(*since));
  if (const auto lists = scan_lists_.find(slot); lists != scan_lists_.end())
    for (const iocx_scan_list& list : lists->second)
      if (ScanTimeSample one = to_sample(list, wall_clock_); !one.period.empty())
        sample.scan_times.push_back(std::move(one));
  const auto completions = completions_.find(slot);
  if (completions == completions_.end()) return {};
  return completions->second.view.for_each([&sample](std::uint64_t address,
                                                     const iocx_completion& completion) {
    sample.completions.push_back(to_sample(completion, record_index(*sample.database, address)));
  });
}

Result<void> ExtraProbes::forget(std::uint32_t slot) {
  Result<void> problem = forget_completions(slot);
  keep_first(problem, forget_scan_lists(records_.object().maps(), slot));
  return problem;
}

static_assert(sizeof(iocx_completion) == 8 + IOCX_PUT_HIST_SLOTS * 8);

Result<void> ExtraProbes::follow_completions(const Watched& watched) {
  const std::uint32_t slot = watched.slot;
  if (completions_.contains(slot) || !records_.saw_asynchronous(slot)) return {};
  constexpr std::uint32_t kLeast = 64, kMost = IOCX_MAX_COMPLETIONS;
  auto map = records_.make_completions_map(slot, std::clamp(watched.records, kLeast, kMost));
  if (!map) return std::move(map).error();
  completions_.emplace(slot, std::move(*map));
  auto done = records_.object().set_completions_map(slot, completions_.at(slot));
  if (done) {
    records_.add(slot, *records_.completion(slot));
    return {};
  }
  if (auto forgotten = forget_completions(slot); !forgotten) return forgotten;
  return done;
}

Result<void> ExtraProbes::forget_completions(std::uint32_t slot) {
  if (!completions_.contains(slot)) return {};
  auto cleared = records_.object().clear_completions_map(slot);
  completions_.erase(slot);
  records_.release_completions_map(slot);
  return cleared;
}

}  // namespace ioc_exporter::records
