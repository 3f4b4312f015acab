// Families about IOCs as a whole: epics_ioc_*.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "base/samples.h"

namespace ioc_exporter::iocs {

// One sample a name, in the snapshot's order: where one name stands there twice (an IOC that came
// again while its former self still shows as gone), the one that is up, else the first.
std::vector<const IocSample*> distinct_iocs(const Snapshot& snapshot);

// epics_ioc_up for all; the others only for those that are up.
void encode_iocs(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::iocs
