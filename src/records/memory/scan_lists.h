// The periodic scan lists of a running IOC, from its memory. Layout: iocs/memory/scan_layout.h.
// Nothing that is read is trusted.
#pragma once

#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"
#include "iocs/memory/memory_samples.h"

namespace ioc_exporter::records {

// From the variables nPeriodic and papPeriodic; sorted by period, each period once. Empty before
// iocInit. An error when there are no such symbols, or what they lead to makes no sense.
Result<std::vector<ScanListSample>> read_scan_lists(iocs::Memory& memory,
                                                    const iocs::VariablePlaces& variables);

}  // namespace ioc_exporter::records
