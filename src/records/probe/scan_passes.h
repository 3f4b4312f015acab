// Counts of bpf/records/scan_lists.bpf.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/map.h"
#include "records/probe/process_object.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// Which threads are those of periodic scans: the names that the kernel is told. A thread with any
// other name counts as IOCX_CAUSE_OTHER, so that causes are a closed set.

// Of the menuScan that comes with Base.
bool is_usual_scan_period(std::string_view period);

// The thread of a scan with that period in seconds, "0.1", as spawnPeriodic() in dbScan.c names it
// and the kernel cuts it off.
iocx_scan_name scan_name(std::uint32_t generation, std::string_view period);

// Scan periods that any IOC may have.
Result<void> add_usual_scan_names(const kernel::MapView<iocx_scan_name, std::uint8_t>& names);

// A scan thread's period, from its name: "scan-0.1" (dbScan.c, spawnPeriodic). The text is "" when
// it is no such name.
struct ScanPeriod {
  std::string text;
  double seconds = 0;
};
ScanPeriod scan_period(std::string_view thread_name);

// Of all watched IOCs, by slot.
Result<std::map<std::uint32_t, std::vector<iocx_scan_list>>> read_scan_lists(
    const RecordMaps& maps);
// The IOC is gone.
Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot);

}  // namespace ioc_exporter::records
