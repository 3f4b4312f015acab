// Outcomes of puts by label, from counters of channels that come and go. Pure: no system calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ca/put_totals.h"
#include "ca/samples.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

struct CaPutFailure {
  CaPutLabels labels;
  std::string reason;       // ca_status_reason()
  std::uint64_t count = 0;  // never 0
};

// WRITE_NOTIFYs of all clients of a PV, from the request to its answer.
struct CaPutDuration {
  std::uint32_t ioc = 0;
  std::string pv;
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
};

// What the kernel has counted for a channel is added as far as it was not added before.
class CaOutcomeTotals {
 public:
  // Over `max_series` sets of labels and reasons, and over as many PVs, nothing new is taken in:
  // overflowed() counts those answers.
  explicit CaOutcomeTotals(std::size_t max_series) : max_series_(max_series) {}

  void observe_failures(const iocx_ca_failure_key& key, const CaPutLabels& labels,
                        std::uint64_t count);
  void observe_durations(std::uint64_t channel, const CaPutLabels& labels,
                         const iocx_ca_outcome& outcome);
  // The statuses that were observed for a channel.
  std::vector<std::uint32_t> statuses(std::uint64_t channel) const;
  // What was observed last becomes the channel's last.
  void close(std::uint64_t channel);
  // Drops the totals of an IOC.
  void forget(std::uint32_t ioc);
  // Drops a client's failures at a PV, and the PV's durations. No channel must add to them any
  // more.
  void forget_failures(const CaPutLabels& labels);
  void forget_durations(std::uint32_t ioc, const std::string& pv);

  std::vector<CaPutFailure> failures() const;
  std::vector<CaPutDuration> durations() const;
  std::uint64_t overflowed() const { return overflowed_; }

 private:
  struct Durations {
    std::uint64_t sum_ns = 0;
    std::array<std::uint64_t, kPutHistogramSlots> buckets{};
  };
  using ChannelStatus = std::pair<std::uint64_t, std::uint32_t>;

  std::size_t max_series_;
  std::uint64_t overflowed_ = 0;
  std::map<ChannelStatus, std::uint64_t> seen_failures_;
  std::map<std::uint64_t, Durations> seen_durations_;  // by channel
  std::map<std::pair<CaPutLabels, std::string>, std::uint64_t> failures_;
  std::map<std::pair<std::uint32_t, std::string>, Durations> durations_;  // by IOC and PV
};

}  // namespace ioc_exporter::ca
