// From what was counted by the IOCs' numbers to samples by their names. Pure. What belongs to a
// number without a name is left out: its IOC is being forgotten in this very moment.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/wall_clock.h"
#include "exposition/self_samples.h"
#include "puts/tap/tap.h"
#include "puts/totals/samples.h"
#include "puts/totals/totals.h"

namespace ioc_exporter::puts {

using IocNames = std::map<std::uint32_t, std::string>;

// By protocol.
struct SamplesOfBoth {
  PutsSamples ca, pva;
  PutsSamples& of(Protocol protocol) { return protocol == Protocol::ca ? ca : pva; }
};

// Adds all that was counted to `samples`, drops and maps to `self`. Every name has its sample of a
// CA server, also one that no client came to; of PV Access those in `seen_by_pva`.
void add_samples(const IocNames& names, const std::set<std::uint32_t>& seen_by_pva,
                 TapReading reading, const WallClock& clock, SamplesOfBoth& samples,
                 SelfSamples& self);

}  // namespace ioc_exporter::puts
