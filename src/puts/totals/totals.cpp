#include "puts/totals/totals.h"

namespace ioc_exporter::ca {

void CaTotals::forget(std::uint32_t ioc) {
  puts.forget(ioc);
  outcomes.forget(ioc);
}

void CaTotals::expire(std::uint64_t before_ns) {
  for (const CaPutLabels& labels : puts.expire(before_ns)) {
    outcomes.forget_failures(labels);
    if (!puts.knows(labels.ioc, labels.pv)) outcomes.forget_durations(labels.ioc, labels.pv);
  }
}

void CaTotals::note_reading(std::uint64_t now_ns) {
  puts.note_reading(now_ns);
  outcomes.note_reading(now_ns);
}

std::vector<DropSample> CaTotals::drops(const char* probe) const {
  return {{probe, "put_series_full", puts.overflowed()},
          {probe, "outcome_series_full", outcomes.overflowed()},
          {probe, "unnamed_put", puts.unnamed(), false},
          {probe, "ioc_gone", puts.forgotten()}};
}

}  // namespace ioc_exporter::ca
