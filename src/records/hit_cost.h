// What a hit of a record probe costs on this machine: measured at start with the real programs, on
// a child process of our own that calls a small function as an IOC calls dbProcess.
#pragma once

#include "base/result.h"

namespace ioc_exporter::records {

class RecordProcess;

// Time that one hit takes from the thread that it hits: trap and program. A call that is timed
// costs both.
struct HitCost {
  double entry_seconds = 0;
  double return_seconds = 0;
};

// Each hit, that many times as dear.
constexpr HitCost operator*(const HitCost& cost, double times) {
  return {cost.entry_seconds * times, cost.return_seconds * times};
}

// A bound where it cannot be measured: an entry and its return took less than this together on all
// machines that were tried.
inline constexpr HitCost kAssumedHitCost{1.25e-6, 1.25e-6};

// With the loaded programs, before they watch an IOC. Takes some tenths of a second. To be called
// while the process has one thread: it forks.
Result<HitCost> measure_hit_cost(RecordProcess& records);

}  // namespace ioc_exporter::records
