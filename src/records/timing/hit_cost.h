// Time that a hit of a record probe takes from the IOC's thread: the cost of an empty probe,
// measured at start, times a factor for the programs.
#pragma once

#include "base/result.h"

namespace ioc_exporter::records {

// Seconds. A call that is timed hits at its entry and at an end.
struct HitCost {
  double entry = 0;  // where the kernel emulates the instruction below the breakpoint
  double end = 0;
  double stepping = 0;  // more, where the kernel executes it by itself, in a second trap
};

// Where it cannot be measured: more than it was on all machines that were tried.
inline constexpr double kAssumedEmptyProbe = 1e-6;

// A hit in an IOC costs more than an empty probe in our own loop: the programs read the record,
// which is in no cache. Measured with 5,000 to 100,000 processings a second (docs/cost.md): 1.7 to
// 1.9 times as much at an entry, 0.9 to 1.05 times at an end.
constexpr HitCost hit_cost(double empty_probe_seconds) {
  return {2 * empty_probe_seconds, empty_probe_seconds};
}

// Calls a function of this program without and with an empty uprobe. Some milliseconds.
Result<double> measure_empty_probe();

}  // namespace ioc_exporter::records
