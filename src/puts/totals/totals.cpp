#include "puts/totals/totals.h"

#include "base/wall_clock.h"

namespace ioc_exporter::ca {

CaTotalsReading CaTotals::read(std::uint64_t now_ns) {
  CaTotalsReading reading{puts.counts(), outcomes.failures(), outcomes.durations()};
  puts.note_reading(now_ns);
  outcomes.note_reading(now_ns);
  return reading;
}

void CaTotals::forget(std::uint32_t ioc) {
  puts.forget(ioc);
  outcomes.forget(ioc);
  to_others_channels.erase(ioc);
  by_server.erase(ioc);
}

void CaTotals::tick(std::chrono::steady_clock::time_point now) {
  if (now < next_expiry_) return;
  next_expiry_ = now + kExpiryInterval;
  expire(kernel_ns(now - expiry));
}

void CaTotals::expire(std::uint64_t before_ns) {
  for (const CaPutLabels& labels : puts.expire(before_ns)) {
    outcomes.forget_failures(labels);
    if (!puts.knows(labels.ioc, labels.pv)) outcomes.forget_durations(labels.ioc, labels.pv);
  }
}

Drops CaTotals::drops(const char* probe) const {
  return {{{probe, "full"}, puts.overflowed() + outcomes.overflowed()},
          {{probe, "lost"}, puts.forgotten()}};
}

}  // namespace ioc_exporter::ca
