// The sums by label that the server probe and the packet tap add to. Pure: no system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exposition/self_samples.h"
#include "puts/totals/outcome_totals.h"
#include "puts/totals/put_totals.h"

namespace ioc_exporter::ca {

struct CaTotals {
  explicit CaTotals(std::size_t max_series) : puts(max_series), outcomes(max_series) {}

  CaPutTotals puts;
  CaOutcomeTotals outcomes;  // results of the puts

  // Drops the totals of an IOC.
  void forget(std::uint32_t ioc);
  // CaPutTotals::expire(), and what became of those puts.
  void expire(std::uint64_t before_ns);
  // As in CaPutTotals.
  void note_reading(std::uint64_t now_ns);
  // Puts that no series shows, under this label `probe`.
  std::vector<DropSample> drops(const char* probe) const;
};

}  // namespace ioc_exporter::ca
