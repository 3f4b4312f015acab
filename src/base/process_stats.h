// ProcessStats: what the exporter itself costs, as Prometheus' client libraries show it
// (process_*).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// The soft limit in the text of /proc/PID/limits; UINT64_MAX: unlimited.
std::optional<std::uint64_t> max_open_files(std::string_view limits);

// Whether the exporter has this one of linux/capability.h now.
bool has_capability(const RootedFs& fs, int capability);

// Processes whose main thread has ended while others run (pthread_exit(3) in main). To /proc/PID
// such a process is a zombie: its memory, files and namespaces are not there. They show in the
// folder of each thread that lives.

// The eldest of the process' threads that live, other than the main one; nothing: there is none.
std::optional<pid_t> find_live_thread(const RootedFs& fs, pid_t pid);

// The folder in /proc that shows the process as its thread sees it: "/proc/PID" for the main one.
std::string folder_of_thread(pid_t pid, pid_t thread);

// Result of `read(thread)` through the main thread or, where that shows nothing, through another
// one that lives.
template <class Read>
auto through_thread(const RootedFs& fs, pid_t pid, const Read& read) {
  auto seen = read(pid);
  if (seen) return seen;
  if (const auto thread = find_live_thread(fs, pid)) return read(*thread);
  return seen;
}

// BPF knows processes by their ids in the initial pid namespace: elsewhere, /proc shows other
// numbers.

// An error, which begins with `action`: this process is not in it.
Result<void> in_initial_pid_namespace(const RootedFs& fs, const std::string& action);

}  // namespace ioc_exporter
