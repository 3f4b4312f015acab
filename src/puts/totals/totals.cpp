#include "puts/totals/totals.h"

#include <iterator>
#include <utility>

#include "base/wall_clock.h"

namespace ioc_exporter::puts {

TotalsReading Totals::read(std::uint64_t now_ns) {
  TotalsReading reading{puts.counts(), {}, {}};
  for (const Protocol protocol : kProtocols) {
    std::ranges::move(outcomes(protocol).failures(), std::back_inserter(reading.failures));
    for (PutDuration& one : outcomes(protocol).durations()) {
      one.by_pva = protocol == Protocol::pva;
      reading.durations.push_back(std::move(one));
    }
    outcomes(protocol).note_reading(now_ns);
  }
  puts.note_reading(now_ns);
  return reading;
}

void Totals::forget(std::uint32_t ioc) {
  puts.forget(ioc);
  to_others_channels.erase(ioc);
  for (const Protocol protocol : kProtocols) {
    outcomes(protocol).forget(ioc);
    by_server.erase({ioc, protocol});
    choice.forget({ioc, protocol});
  }
}

void Totals::tick(std::chrono::steady_clock::time_point now) {
  if (now < next_expiry_) return;
  next_expiry_ = now + kExpiryInterval;
  expire(kernel_ns(now - expiry));
}

void Totals::expire(std::uint64_t before_ns) {
  for (const PutLabels& labels : puts.expire(before_ns)) {
    OutcomeTotals& results = outcomes(labels.protocol);
    results.forget_failures(labels);
    if (!puts.knows(labels.server(), labels.pv)) results.forget_durations(labels.ioc, labels.pv);
  }
}

void Totals::add_drops(Drops& drops, const char* probe, std::uint32_t slots) const {
  drops[{probe, "full"}] += puts.overflowed(slots);
  if (slots == PutTotals::kTapSlots) {  // of the server probes, too
    drops[{probe, "full"}] += outcomes_[index_of(Protocol::ca)].overflowed();
    std::uint64_t& lost = drops[{probe, "lost"}];
    lost += puts.forgotten(slots);
    for (const Protocol protocol : kProtocols)
      lost += puts.forgotten(PutTotals::server_slots(protocol));
  }
  if (slots == PutTotals::server_slots(Protocol::pva))
    drops[{probe, "full"}] += outcomes_[index_of(Protocol::pva)].overflowed();
}

}  // namespace ioc_exporter::puts
