// Outcomes of puts by label, from counters of channels that come and go. Pure: no system calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/monotonic_totals.h"
#include "puts/totals/put_totals.h"
#include "puts/totals/samples.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::puts {

struct PutFailure {
  PutLabels labels;
  std::string reason;            // ca_status_reason()
  std::uint64_t count = 0;       // never 0
  std::uint64_t created_ns = 0;  // when there was none yet, as in PutCount
};

// With the IOC's number: `ioc` is not filled in yet.
struct PutDuration : PutDurationSample {
  std::uint32_t number = 0;
};

class OutcomeTotals {
 public:
  // Over `max_series` sets of labels and reasons, and over as many PVs, nothing new is taken in:
  // overflowed() counts those answers.
  explicit OutcomeTotals(std::size_t max_series) : failures_(max_series), durations_(max_series) {}

  // `has_room`: whether there may be a series of these labels; else they are in overflowed() only.
  void observe_failures(const iocx_ca_failure_key& key, const PutLabels& labels,
                        std::uint64_t count, bool has_room = true);
  // Outcome: as the tap or the server probe counts them, with sum_ns and buckets.
  template <class Outcome>
  void observe_durations(std::uint64_t channel, const PutLabels& labels, const Outcome& outcome,
                         bool has_room = true) {
    if (has_room)
      durations_.observe(channel, {labels.ioc, labels.pv}, values_of(outcome));
    else
      durations_.observe_without_room(channel, values_of(outcome));
  }
  // The channel's failures until now are counted elsewhere.
  void pass_over_failures(const iocx_ca_failure_key& key, std::uint64_t count);
  template <class Outcome>
  void pass_over_durations(std::uint64_t channel, const Outcome& outcome) {
    durations_.pass_over(channel, values_of(outcome));
  }
  // The statuses that were observed for a channel.
  std::vector<std::uint32_t> statuses(std::uint64_t channel) const;
  // The last observed values become the channel's last ones.
  void close(std::uint64_t channel);
  // Drops the totals of an IOC.
  void forget(std::uint32_t ioc);
  // Drops a client's failures at a PV, and the PV's durations. No channel must add to them any
  // more.
  void forget_failures(const PutLabels& labels);
  void forget_durations(std::uint32_t ioc, const std::string& pv);

  std::vector<PutFailure> failures() const;
  // As in PutTotals.
  void note_reading(std::uint64_t now_ns) { read_ns_ = now_ns; }
  std::vector<PutDuration> durations() const;
  std::uint64_t overflowed() const;

 private:
  using ChannelStatus = std::pair<std::uint64_t, std::uint32_t>;
  using FailureKey = std::pair<PutLabels, std::string>;
  using Failures = MonotonicTotals<FailureKey, 1, ChannelStatus>;
  // By IOC and PV, of channels: the buckets, and behind them the sum.
  static constexpr std::size_t kSum = kPutHistogramSlots;
  using Durations = MonotonicTotals<std::pair<std::uint32_t, std::string>, kSum + 1, std::uint64_t>;

  template <class Outcome>
  static Durations::Values values_of(const Outcome& outcome) {
    Durations::Values values;
    std::copy_n(outcome.buckets, kPutHistogramSlots, values.begin());
    values[kSum] = outcome.sum_ns;
    return values;
  }

  Failures failures_;
  std::map<FailureKey, std::uint64_t> failures_created_ns_;  // of those that are there
  std::uint64_t read_ns_ = 0;
  Durations durations_;
};

}  // namespace ioc_exporter::puts
