// From what the tap counted by the IOCs' numbers to samples by their names. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/wall_clock.h"
#include "exposition/self_samples.h"
#include "puts/tap/tap.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::ca {

// Adds the puts and their outcomes, servers and clients to `samples`, drops
// and maps to `self`. What belongs to
// a number without a name is left out: its IOC is being forgotten in this very moment. Every name
// has its server sample, also one that no client came to.
void add_ca_samples(const std::map<std::uint32_t, std::string>& names, CaTapReading reading,
                    const WallClock& clock, CaSamples& samples, SelfSamples& self);

}  // namespace ioc_exporter::ca
