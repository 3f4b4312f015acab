// What the probes cost, and what was done about it: plain samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ioc_exporter {

// Of one IOC whose records are counted.
struct OverheadSample {
  double core_share = 0;  // fraction of one core that the record probes cost the IOC
  double attached_share =
      1;  // fraction of time that they are attached; below 1: counts are estimates
  std::optional<double> seconds = {};  // that they took from its threads; nothing: not known now
  double timed_share = 1;              // fraction of what is counted that is timed, about
  std::size_t by_passes = 0;           // records counted by what sets them off, in pauses
};

// One hit of a record probe, as measured at start.
struct HitCostSample {
  double entry_seconds = 0;
  double return_seconds = 0;
};

}  // namespace ioc_exporter
