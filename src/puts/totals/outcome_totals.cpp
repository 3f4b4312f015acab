#include "puts/totals/outcome_totals.h"

#include <algorithm>
#include <numeric>

#include "puts/status.h"

namespace ioc_exporter::puts {

void OutcomeTotals::observe_failures(const iocx_ca_failure_key& key, const PutLabels& labels,
                                     std::uint64_t count, bool has_room) {
  if (!has_room) return failures_.observe_without_room({key.channel, key.status}, {count});
  const FailureKey series{labels, std::string(ca_status_reason(key.status))};
  failures_.observe({key.channel, key.status}, series, {count});
  if (failures_.totals().contains(series)) failures_created_ns_.try_emplace(series, read_ns_);
}

void OutcomeTotals::pass_over_failures(const iocx_ca_failure_key& key, std::uint64_t count) {
  failures_.pass_over({key.channel, key.status}, {count});
}

std::vector<std::uint32_t> OutcomeTotals::statuses(std::uint64_t channel) const {
  std::vector<std::uint32_t> all;
  const auto& seen = failures_.sources();
  for (auto entry = seen.lower_bound({channel, 0});
       entry != seen.end() && entry->first.first == channel; ++entry)
    all.push_back(entry->first.second);
  return all;
}

void OutcomeTotals::close(std::uint64_t channel) {
  for (const std::uint32_t status : statuses(channel)) failures_.close({channel, status});
  durations_.close(channel);
}

void OutcomeTotals::forget(std::uint32_t ioc) {
  const auto is_its = [ioc](const FailureKey& series) { return series.first.ioc == ioc; };
  failures_.drop_if(is_its);
  std::erase_if(failures_created_ns_, [&](const auto& entry) { return is_its(entry.first); });
  durations_.drop_if([ioc](const auto& series) { return series.first == ioc; });
}

void OutcomeTotals::forget_failures(const PutLabels& labels) {
  const auto& all = failures_.totals();
  for (auto at = all.lower_bound({labels, ""}); at != all.end() && at->first.first == labels;) {
    const auto series = (at++)->first;
    failures_.drop(series);
    failures_created_ns_.erase(series);
  }
}

void OutcomeTotals::forget_durations(std::uint32_t ioc, const std::string& pv) {
  durations_.drop({ioc, pv});
}

std::vector<PutFailure> OutcomeTotals::failures() const {
  std::vector<PutFailure> all;
  for (const auto& [series, count] : failures_.totals())
    all.push_back({series.first, series.second, count[0], failures_created_ns_.at(series)});
  return all;
}

std::vector<PutDuration> OutcomeTotals::durations() const {
  std::vector<PutDuration> all;
  for (const auto& [series, values] : durations_.totals()) {
    all.push_back({{"", series.second, values[kSum], {}}, series.first});
    std::copy_n(values.begin(), kPutHistogramSlots, all.back().buckets.begin());
  }
  return all;
}

std::uint64_t OutcomeTotals::overflowed() const {
  const auto& durations = durations_.overflowed();
  return std::accumulate(durations.begin(), durations.begin() + kPutHistogramSlots,
                         failures_.overflowed()[0]);
}

}  // namespace ioc_exporter::puts
