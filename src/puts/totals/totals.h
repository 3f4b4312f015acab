// The sums by label that the server probes and the packet tap add to, and which of them does. Pure:
// no system calls.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exposition/self_samples.h"
#include "puts/source_choice.h"
#include "puts/totals/outcome_totals.h"
#include "puts/totals/put_totals.h"

namespace ioc_exporter::puts {

// IOCs stand with their numbers.
struct TotalsReading {
  std::vector<PutCount> puts;          // sorted by label
  std::vector<PutFailure> failures;    // sorted by label
  std::vector<PutDuration> durations;  // of PVs with put-callbacks
};

class Totals {
 public:
  static constexpr std::chrono::seconds kExpiryInterval{10};

  explicit Totals(std::size_t max_series)
      : puts(max_series), outcomes_{OutcomeTotals(max_series), OutcomeTotals(max_series)} {}

  SourceChoice choice;  // who adds
  PutTotals puts;
  // What became of them.
  OutcomeTotals& outcomes(Protocol protocol) { return outcomes_[index_of(protocol)]; }
  // Of them, to channels of other clients; by IOC, of those whose servers are or were probed.
  std::map<std::uint32_t, std::uint64_t> to_others_channels;
  // Puts that servers' probes counted: they stay when series expire or have no room.
  std::map<ServerKey, std::uint64_t> by_server;
  std::chrono::milliseconds expiry = std::chrono::hours(30 * 24);  // after the last put

  // At that time of CLOCK_MONOTONIC.
  TotalsReading read(std::uint64_t now_ns);
  // Drops the totals of an IOC.
  void forget(std::uint32_t ioc);
  // PutTotals::expire(), and what became of those puts.
  void expire(std::uint64_t before_ns);
  // Every second or two: expires puts that are older than `expiry` now and then.
  void tick(std::chrono::steady_clock::time_point now);
  // Puts of these slots and answers that no series shows, under this label `probe`; with the tap's,
  // those of all sources to IOCs that had left.
  void add_drops(Drops& drops, const char* probe, std::uint32_t slots) const;

 private:
  std::array<OutcomeTotals, 2> outcomes_;  // by protocol
  std::chrono::steady_clock::time_point next_expiry_{};
};

}  // namespace ioc_exporter::puts
