// What is seen of an IOC besides dbProcess itself, as the metrics need it. Durations in
// nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "shared/histogram.h"

namespace ioc_exporter {

// Passes through a periodic scan list.
struct ScanTimeSample {
  std::string period;  // as the scan thread's name has it: "0.1"
  double period_seconds = 0;
  double last_time_seconds = 0;  // time of day when the last pass ended; 0 = none has
  double age_seconds = 0;        // since then
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, IOCX_PUT_HIST_SLOTS> buckets{};  // not cumulative
};

// Completions of an asynchronous record, from the start of dbProcess.
struct CompletionSample {
  std::uint32_t record = UINT32_MAX;  // index into the database's records; UINT32_MAX: not known
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, IOCX_PUT_HIST_SLOTS> buckets{};  // not cumulative
};

}  // namespace ioc_exporter
