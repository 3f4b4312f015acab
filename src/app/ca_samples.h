// From what the tap counted by the IOCs' numbers to samples by their names. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "app/wall_clock.h"
#include "probes/ca_tap.h"
#include "probes/samples.h"

namespace ioc_exporter::app {

// Adds the puts and their outcomes, servers, clients, drops and maps to `snapshot`. What belongs to
// a number without a name is left out: its IOC is being forgotten in this very moment. Every name
// has its server sample, also one that no client came to.
void add_ca_samples(const std::map<std::uint32_t, std::string>& names, probes::CaTapReading reading,
                    const WallClock& clock, Snapshot& snapshot);

}  // namespace ioc_exporter::app
