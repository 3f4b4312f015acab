// Processes whose main thread has ended while others run (pthread_exit(3) in main). To /proc/PID
// such a process is a zombie: its memory, files and namespaces are not there. They show in the
// folder of each thread that lives.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/rooted_fs.h"

namespace ioc_exporter {

// The eldest of the process' threads that live, other than the main one; nothing: there is none.
std::optional<pid_t> find_live_thread(const RootedFs& fs, pid_t pid);

// The folder in /proc that shows the process as its thread sees it: "/proc/PID" for the main one.
std::string folder_of_thread(pid_t pid, pid_t thread);

// Result of `look(thread)` through the main thread or, where that shows nothing, through another
// one that lives.
template <class Look>
auto look_through_thread(const RootedFs& fs, pid_t pid, const Look& look) {
  auto seen = look(pid);
  if (seen) return seen;
  if (const auto thread = find_live_thread(fs, pid)) return look(*thread);
  return seen;
}

}  // namespace ioc_exporter
