// Options of counting and timing records.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/option_table.h"
#include "base/pattern.h"
#include "exposition/limits.h"

namespace ioc_exporter::records {

struct Options {
  bool enabled = true;
  bool durations = true;             // time processings
  std::uint32_t max_threads = 4096;  // that process records
  bool causes = false;               // each record's processings by cause
  bool puts = true;                  // writes inside the IOC
  std::chrono::milliseconds stuck_after = std::chrono::seconds(30);  // active for longer: stuck
  double overhead_target = 1;  // percent of one core for each IOC, for timing; above: times less
  double overhead_budget =
      25;  // the same, of all probes but those of puts: probes/budget.h; 0 = none
  std::uint64_t kernel_memory = 0;  // bytes for the counts of all records; 0 = by the host's memory
  NameFilter shown;                 // records that have series
  std::vector<exposition::RecordGroup> groups;  // in the file only
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::records
