#include "ca/outcome_totals.h"

#include "ca/status.h"

namespace ioc_exporter::ca {

void CaOutcomeTotals::observe_failures(const iocx_ca_failure_key& key, const CaPutLabels& labels,
                                       std::uint64_t count) {
  std::uint64_t& seen = seen_failures_[{key.channel, key.status}];
  const std::uint64_t fresh = count - seen;
  seen = count;
  if (fresh == 0) return;
  std::pair series{labels, std::string(ca_status_reason(key.status))};
  const auto found = failures_.find(series);
  if (found != failures_.end())
    found->second += fresh;
  else if (failures_.size() < max_series_)
    failures_.emplace(std::move(series), fresh);
  else
    overflowed_ += fresh;
}

void CaOutcomeTotals::observe_durations(std::uint64_t channel, const CaPutLabels& labels,
                                        const iocx_ca_outcome& outcome) {
  Durations& seen = seen_durations_[channel];
  Durations fresh;
  std::uint64_t answers = 0;
  for (std::size_t slot = 0; slot < kPutHistogramSlots; ++slot) {
    fresh.buckets[slot] = outcome.buckets[slot] - seen.buckets[slot];
    answers += fresh.buckets[slot];
    seen.buckets[slot] = outcome.buckets[slot];
  }
  fresh.sum_ns = outcome.sum_ns - seen.sum_ns;
  seen.sum_ns = outcome.sum_ns;
  if (answers == 0 && fresh.sum_ns == 0) return;
  const std::pair series{labels.ioc, labels.pv};
  auto found = durations_.find(series);
  if (found == durations_.end()) {
    if (durations_.size() >= max_series_) {
      overflowed_ += answers;
      return;
    }
    found = durations_.emplace(series, Durations{}).first;
  }
  Durations& total = found->second;
  total.sum_ns += fresh.sum_ns;
  for (std::size_t slot = 0; slot < kPutHistogramSlots; ++slot)
    total.buckets[slot] += fresh.buckets[slot];
}

std::vector<std::uint32_t> CaOutcomeTotals::statuses(std::uint64_t channel) const {
  std::vector<std::uint32_t> all;
  for (auto entry = seen_failures_.lower_bound({channel, 0});
       entry != seen_failures_.end() && entry->first.first == channel; ++entry)
    all.push_back(entry->first.second);
  return all;
}

void CaOutcomeTotals::close(std::uint64_t channel) {
  seen_failures_.erase(seen_failures_.lower_bound({channel, 0}),
                       seen_failures_.upper_bound({channel, UINT32_MAX}));
  seen_durations_.erase(channel);
}

void CaOutcomeTotals::forget(std::uint32_t ioc) {
  std::erase_if(failures_, [ioc](const auto& entry) { return entry.first.first.ioc == ioc; });
  std::erase_if(durations_, [ioc](const auto& entry) { return entry.first.first == ioc; });
}

void CaOutcomeTotals::forget_failures(const CaPutLabels& labels) {
  auto failure = failures_.lower_bound({labels, ""});
  while (failure != failures_.end() && failure->first.first == labels)
    failure = failures_.erase(failure);
}

void CaOutcomeTotals::forget_durations(std::uint32_t ioc, const std::string& pv) {
  durations_.erase({ioc, pv});
}

std::vector<CaPutFailure> CaOutcomeTotals::failures() const {
  std::vector<CaPutFailure> all;
  for (const auto& [series, count] : failures_) all.push_back({series.first, series.second, count});
  return all;
}

std::vector<CaPutDuration> CaOutcomeTotals::durations() const {
  std::vector<CaPutDuration> all;
  for (const auto& [series, total] : durations_)
    all.push_back({series.first, series.second, total.sum_ns, total.buckets});
  return all;
}

}  // namespace ioc_exporter::ca
