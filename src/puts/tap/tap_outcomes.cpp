// The part of CaTap that reads and frees the outcomes of puts, which stand beside the channels.
#include <utility>

#include "puts/tap/tap.h"

namespace ioc_exporter::ca {
namespace {

std::uint64_t answers(const iocx_ca_outcome& outcome) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bucket : outcome.buckets) sum += bucket;
  return sum;
}

}  // namespace

// Answers that the kernel has counted. Those of a channel whose IOC is not known yet stay in its
// tables.
Result<void> CaTap::observe_outcomes() {
  std::vector<Outcome> strangers;
  outcome_keys_.clear();
  using Counts = CaPutSources::Counts;
  const auto counts_of = [this](std::uint32_t slot) {
    const Placed& placed = placed_[slot];
    return sources_.counts_results(placed.ioc, placed.server_port, placed.since_ns);
  };
  const auto failure = [&](const iocx_ca_failure_key& key, const iocx_ca_failure& value) {
    outcome_keys_.insert({{key.channel, key.status}, {value.circuit, value.address}});
    if (const CaPutLabels* labels = totals_->puts.labels(value.slot, key.channel)) {
      const Counts counts = counts_of(value.slot);
      if (counts == Counts::packets)
        totals_->outcomes.observe_failures(key, *labels, value.count,
                                           totals_->puts.note_outcome(value.slot));
      else if (counts != Counts::not_known_yet)
        totals_->outcomes.pass_over_failures(key, value.count);
    } else if (!totals_->puts.is_open(value.slot, key.channel))
      strangers.push_back({key.channel, key.status, value.count});
  };
  if (auto ok = object_.maps().failures.for_each(failure); !ok) return ok;
  const auto duration = [&](std::uint64_t channel, const iocx_ca_outcome& value) {
    outcome_keys_.insert({{channel, kDurations}, {value.circuit, value.address}});
    if (const CaPutLabels* labels = totals_->puts.labels(value.slot, channel)) {
      const Counts counts = counts_of(value.slot);
      if (counts == Counts::packets)
        totals_->outcomes.observe_durations(channel, *labels, value,
                                            totals_->puts.note_outcome(value.slot));
      else if (counts != Counts::not_known_yet)
        totals_->outcomes.pass_over_durations(channel, value);
    } else if (!totals_->puts.is_open(value.slot, channel))
      strangers.push_back({channel, kDurations, answers(value)});
  };
  if (auto ok = object_.maps().outcomes.for_each(duration); !ok) return ok;
  return free_strangers(strangers);
}

// Answers that came long after the end of their channel, when it had been freed.
Result<void> CaTap::free_strangers(const std::vector<Outcome>& strangers) {
  for (const Outcome& stranger : strangers) {
    auto info = object_.maps().channel_info.lookup(stranger.channel);
    if (!info) return std::move(info).error();
    if (*info) continue;
    if (auto ok = free_outcome(stranger.channel, stranger.status); !ok) return ok;
    late_answers_ += stranger.count;
  }
  return {};
}

Result<void> CaTap::free_outcome(std::uint64_t channel, std::uint32_t status) {
  auto erased = status == kDurations ? object_.maps().outcomes.erase(channel)
                                     : object_.maps().failures.erase({channel, status, 0});
  if (!erased) return std::move(erased).error();
  const Holder& holder = outcome_keys_.at({channel, status});
  if (*erased)
    object_.give_share(status == kDurations ? IOCX_CA_SHARE_OUTCOMES : IOCX_CA_SHARE_FAILURES,
                       holder.circuit, holder.address);
  return {};
}

// The channels' outcomes were observed. An IOC that is asked to close a channel gives up its
// put-callback without an answer, so that one may still wait.
Result<void> CaTap::free_outcomes(const std::set<std::uint64_t>& channels) {
  for (const std::uint64_t channel : channels) {
    for (auto key = outcome_keys_.lower_bound({channel, 0});
         key != outcome_keys_.end() && key->first.first == channel; ++key)
      if (auto ok = free_outcome(channel, key->first.second); !ok) return ok;
    totals_->outcomes.close(channel);
  }
  std::vector<std::pair<iocx_ca_channel_key, std::uint32_t>> waiting;
  const auto note = [&](const iocx_ca_channel_key& key, const iocx_ca_pending& value) {
    if (channels.contains(value.channel)) waiting.emplace_back(key, value.address);
  };
  if (auto ok = object_.maps().pending.for_each(note); !ok) return ok;
  for (const auto& [key, address] : waiting) {
    auto erased = object_.maps().pending.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased && address != 0) object_.give_share(IOCX_CA_SHARE_PENDING, key.circuit, address);
  }
  return {};
}

}  // namespace ioc_exporter::ca
