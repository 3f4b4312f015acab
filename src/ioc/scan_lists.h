// The periodic scan lists of a running IOC, from its memory. Layout: ioc/scan_layout.h. Nothing
// that is read is trusted.
#pragma once

#include <vector>

#include "discovery/ioc.h"
#include "ioc/memory.h"
#include "probes/ioc_memory_samples.h"
#include "util/result.h"

namespace ioc_exporter::ioc {

// From the variables nPeriodic and papPeriodic; sorted by period, each period once. Empty before
// iocInit. An error when there are no such symbols, or what they lead to makes no sense.
Result<std::vector<ScanListSample>> read_scan_lists(Memory& memory,
                                                    const discovery::VariablePlaces& variables);

}  // namespace ioc_exporter::ioc
