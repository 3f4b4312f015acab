// ProcessStats: what the exporter itself costs, as Prometheus' client libraries show it
// (process_*).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {

struct ProcessStats {
  double cpu_seconds = 0;         // user and system
  double start_time_seconds = 0;  // since 1970
  double boot_time_seconds = 0;   // of the host; the same
  std::uint64_t virtual_memory_bytes = 0;
  std::uint64_t resident_memory_bytes = 0;
  std::uint64_t max_fds = 0;              // UINT64_MAX: unlimited
  std::optional<std::uint64_t> open_fds;  // nothing when /proc/self/fd is closed to us: a process
                                          // that changed its user may not list it
};

// Units that the kernel counts in; the defaults are this host's.
struct ProcessUnits {
  std::uint64_t ticks_per_second;
  std::uint64_t page_bytes;

  static ProcessUnits of_host();
};

// Reads /proc/self/stat, /proc/self/limits, /proc/self/fd and /proc/stat (proc(5)).
Result<ProcessStats> read_process_stats(const RootedFs& fs,
                                        const ProcessUnits& units = ProcessUnits::of_host());

}  // namespace ioc_exporter
