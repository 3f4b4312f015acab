#include "puts/tap/outcomes.h"

#include <numeric>

namespace ioc_exporter::puts {

// Adds an entry of the kernel's, or notes that there is no such channel.
template <class Entry, class Add, class PassOver>
void Outcomes::take(const Key& key, const Entry& entry, std::uint64_t count, Add add,
                    PassOver pass_over) {
  entries_.insert({key, entry.holder});
  const PutLabels* const labels = totals_.puts.labels(entry.slot, key.first);
  if (labels == nullptr) {
    if (!totals_.puts.is_open(entry.slot, key.first)) late_.emplace(key, count);
    return;
  }
  if (totals_.choice.results_by_packets(labels->server()))
    add(*labels, totals_.puts.note_outcome(entry.slot));
  else
    pass_over(totals_.outcomes(labels->protocol));
}

Result<void> Outcomes::observe() {
  entries_.clear();
  late_.clear();
  auto read = object_.maps().failures.for_each([&](const auto& key, const iocx_ca_failure& entry) {
    take(
        {key.channel, key.status}, entry, entry.count,
        [&](const PutLabels& labels, bool has_room) {
          totals_.outcomes(labels.protocol).observe_failures(key, labels, entry.count, has_room);
        },
        [&](OutcomeTotals& to) { to.pass_over_failures(key, entry.count); });
  });
  if (!read) return read;
  read = object_.maps().outcomes.for_each([&](std::uint64_t channel, const iocx_ca_outcome& entry) {
    take(
        {channel, kDurations}, entry,
        std::accumulate(std::begin(entry.buckets), std::end(entry.buckets), std::uint64_t{0}),
        [&](const PutLabels& labels, bool has_room) {
          totals_.outcomes(labels.protocol).observe_durations(channel, labels, entry, has_room);
        },
        [&](OutcomeTotals& to) { to.pass_over_durations(channel, entry); });
  });
  if (!read) return read;
  for (const auto& [key, count] : late_) {
    auto info = object_.maps().channel_info.lookup(key.first);
    if (!info) return std::move(info).error();
    if (*info) continue;
    if (auto ok = free(key); !ok) return ok;
    late_answers_ += count;
  }
  return {};
}

Result<void> Outcomes::free(const Key& key) {
  const auto& [channel, status] = key;
  const bool is_duration = status == kDurations;
  auto erased = is_duration ? object_.maps().outcomes.erase(channel)
                            : object_.maps().failures.erase({channel, status, 0});
  if (!erased) return std::move(erased).error();
  if (*erased)
    object_.caps().give(is_duration ? IOCX_CA_HELD_OUTCOMES : IOCX_CA_HELD_FAILURES,
                        entries_.at(key));
  return {};
}

// An IOC that is asked to close a channel gives up its put-callback without an answer, so that one
// may still wait.
Result<void> Outcomes::free(const std::set<std::uint64_t>& channels) {
  for (const std::uint64_t channel : channels) {
    for (auto entry = entries_.lower_bound({channel, 0});
         entry != entries_.end() && entry->first.first == channel; ++entry)
      if (auto ok = free(entry->first); !ok) return ok;
    for (const Protocol protocol : kProtocols) totals_.outcomes(protocol).close(channel);
  }
  std::vector<std::pair<iocx_ca_channel_key, std::uint32_t>> waiting;
  auto read = object_.maps().pending.for_each([&](const auto& key, const iocx_ca_pending& value) {
    if (channels.contains(value.channel)) waiting.emplace_back(key, value.holder);
  });
  if (!read) return read;
  for (const auto& [key, holder] : waiting) {
    auto erased = object_.maps().pending.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased) object_.caps().give(IOCX_CA_HELD_PENDING, holder);
  }
  return {};
}

Result<void> Outcomes::add_maps(std::vector<MapSample>& maps) const {
  std::uint64_t durations = 0, waiting = 0;
  for (const auto& [key, holder] : entries_) durations += key.second == kDurations;
  auto read = object_.maps().pending.for_each([&](const auto&, const auto&) { ++waiting; });
  if (!read) return read;
  maps.push_back({"ca_pending", waiting, object_.maps().pending.capacity()});
  maps.push_back({"ca_outcomes", durations, object_.maps().outcomes.capacity()});
  maps.push_back({"ca_failures", entries_.size() - durations, object_.maps().failures.capacity()});
  return {};
}

}  // namespace ioc_exporter::puts
