// From what was counted by the IOCs' numbers to samples by their names. Pure. What belongs to a
// number without a name is left out: its IOC is being forgotten in this very moment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/wall_clock.h"
#include "exposition/self_samples.h"
#include "puts/tap/tap.h"
#include "puts/totals/samples.h"
#include "puts/totals/totals.h"

namespace ioc_exporter::ca {

using IocNames = std::map<std::uint32_t, std::string>;

// Takes what is of PV Access out of it; with the IOCs' numbers.
CaTapReading take_pva(CaTapReading& reading);

// Adds the puts and their outcomes; `by_pva`: by PV Access.
void add_put_samples(const IocNames& names, CaTotalsReading reading, const WallClock& clock,
                     bool by_pva, CaSamples& samples);

// Adds all that the tap has counted to `samples`, drops and maps to `self`. Every name has its
// server sample, also one that no client came to.
void add_ca_samples(const IocNames& names, CaTapReading reading, const WallClock& clock,
                    CaSamples& samples, SelfSamples& self);

}  // namespace ioc_exporter::ca
