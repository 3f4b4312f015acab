// What bpf/records/scan_lists.bpf.h and triggers.bpf.h count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/pass_model.h"
#include "records/process_object.h"

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
// Passes through the lists of one IOC so far, with those under way: of periodic lists by the list's
// thread, of others by the list's address; `puts`: and writes to its records, as PassModel has
// them. `now_ns`: CLOCK_MONOTONIC.
Result<PassModel::Lists> read_passes(const RecordMaps& maps, std::uint32_t slot,
                                     std::uint32_t generation, bool puts, std::uint64_t now_ns);
// The IOC is gone. Both of these.
Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot);
// All but periodic lists; with IOCX_TRIGGER_PUT: writes only.
Result<void> forget_triggers(const RecordMaps& maps, std::uint32_t slot, std::uint64_t kind);

}  // namespace ioc_exporter::records
