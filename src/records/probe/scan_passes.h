// Counts of bpf/records/scan_lists.bpf.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/probe/process_object.h"

namespace ioc_exporter::records {

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
