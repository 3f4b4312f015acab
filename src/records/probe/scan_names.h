// Which threads are those of periodic scans: the names that the kernel is told. A thread with any
// other name counts as IOCX_CAUSE_OTHER, so that causes are a closed set.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kernel/map.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// Of the menuScan that comes with Base.
bool is_usual_scan_period(std::string_view period);

// The thread of a scan with that period in seconds, "0.1", as spawnPeriodic() in dbScan.c names it
// and the kernel cuts it off.
iocx_scan_name scan_name(std::uint32_t generation, std::string_view period);

// Scan periods that any IOC may have.
Result<void> add_usual_scan_names(const kernel::MapView<iocx_scan_name, std::uint8_t>& names);

}  // namespace ioc_exporter::records
