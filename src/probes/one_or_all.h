// Whether IOCs with the same functions have an attachment each, or one for all processes that map
// the file.
#pragma once

#include <cstddef>

#include "probes/row.h"

namespace ioc_exporter::probes {

// IOCs that have one answer together.
struct UnitState {
  // To be counted; not to be hit, or not by all that others want.
  std::size_t active = 0, off = 0;
  bool one_without_main_thread = false;  // of those to be counted
  bool only_in_processes = false;
};

// IOCX_ATTACH_*. `current`: that of now, 0 = none.
//
// The kernel walks every attachment of an address at each hit, so one attachment a process costs
// every IOC on the file about 100 ns more for each other one that is watched. One for all costs the
// same at any number, but then a process on the file that is not watched pays for the trap too.
//
// To attach to one process, the kernel asks whose memory its main thread has (Linux 5.10 to 6.18):
// once that thread has ended no new breakpoint comes to that process, and those that it has go
// away, with a perf event at the next hit, with a link when any other attachment of the address is
// taken off.
constexpr unsigned one_or_all(const Policy& policy, unsigned current, const UnitState& unit) {
  if (unit.only_in_processes) return IOCX_ATTACH_PROCESS;
  if (unit.one_without_main_thread) return IOCX_ATTACH_ALL;
  if (unit.off > 0 && unit.active <= policy.most_beside_off) return IOCX_ATTACH_PROCESS;
  if (unit.active > policy.most_apart) return IOCX_ATTACH_ALL;
  if (unit.active <= policy.fewest_together || current == 0) return IOCX_ATTACH_PROCESS;
  return current;
}

}  // namespace ioc_exporter::probes
