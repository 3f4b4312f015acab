// The sums by label that the server probe and the packet tap add to. Pure: no system calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exposition/self_samples.h"
#include "puts/totals/outcome_totals.h"
#include "puts/totals/put_totals.h"

namespace ioc_exporter::ca {

// IOCs stand with their numbers.
struct CaTotalsReading {
  std::vector<CaPutCount> puts;          // sorted by label
  std::vector<CaPutFailure> failures;    // sorted by label
  std::vector<CaPutDuration> durations;  // of PVs with put-callbacks
};

class CaTotals {
 public:
  static constexpr std::chrono::seconds kExpiryInterval{10};

  explicit CaTotals(std::size_t max_series) : puts(max_series), outcomes(max_series) {}

  CaPutTotals puts;
  CaOutcomeTotals outcomes;  // what became of them
  // Of them, to channels of other clients; by IOC, of those whose servers are or were probed.
  std::map<std::uint32_t, std::uint64_t> to_others_channels;
  // Puts that servers' probes counted, by IOC: they stay when series expire or have no room.
  std::map<std::uint32_t, std::uint64_t> by_server;
  std::chrono::milliseconds expiry = std::chrono::hours(30 * 24);  // after the last put

  // At that time of CLOCK_MONOTONIC.
  CaTotalsReading read(std::uint64_t now_ns);
  // Drops the totals of an IOC.
  void forget(std::uint32_t ioc);
  // CaPutTotals::expire(), and what became of those puts.
  void expire(std::uint64_t before_ns);
  // Every second or two: expires puts that are older than `expiry` now and then.
  void tick(std::chrono::steady_clock::time_point now);
  // Puts that no series shows, under this label `probe`.
  Drops drops(const char* probe) const;

 private:
  std::chrono::steady_clock::time_point next_expiry_{};
};

}  // namespace ioc_exporter::ca
