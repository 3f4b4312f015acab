// The periods of an IOC's periodic scans, from the choices of its menuScan: known as soon as its
// database definitions are loaded. Nothing that is read is trusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "iocs/memory/base_layout.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// More than any IOC has; what is beyond is left out.
inline constexpr std::size_t kMostScanPeriods = 32;

// In seconds, "0.1", as spawnPeriodic() in dbScan.c names a scan's thread. Empty when there is no
// menuScan that can be read.
std::vector<std::string> read_scan_periods(Memory& memory, const layout::EllList& menus);

// Of one choice that is the `number`th periodic one: initPeriodic() in dbScan.c gives a choice that
// it does not understand its number as period.
std::string scan_period_text(std::string_view choice, std::size_t number);

}  // namespace ioc_exporter::iocs
