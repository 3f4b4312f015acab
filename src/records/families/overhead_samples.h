// What the probes cost, and what was done about it: plain samples.
#pragma once

#include <optional>

namespace ioc_exporter {

// Of one IOC whose records are to be counted.
struct OverheadSample {
  double core_share = 0;                // fraction of one core that the record probes cost the IOC
  std::optional<double> seconds = {};   // that they took from its threads; nothing: not known now
  double timed_share = 1;               // fraction of its calls that is timed
  std::optional<double> over_budget{};  // its records are not counted, for this would cost so much
  bool attached = true;                 // the probes are there
};

}  // namespace ioc_exporter
