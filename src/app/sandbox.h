// Sandbox: a seccomp filter that lets through the system calls which an exporter that runs makes,
// with the arguments that it makes them with, and no others. It stands besides the capabilities:
// what a bug, or bytes made to use one, could do with them.
#pragma once

#include "base/result.h"

namespace ioc_exporter::app {

struct SandboxOptions {
  // Probes may be attached (perf_event_open, BPF links).
  bool probes = true;
  // Other network namespaces may be entered, packet sockets opened in them, and BPF programs
  // loaded, as each of them needs its own.
  bool net_namespaces = true;
  // Readers may be forked: children that give up rights, enter a filter of their own, and are
  // killed.
  bool readers = false;
  // Files may be made, written to and renamed, as its user may.
  bool log_files = false;
};

// For all threads and for good. All else fails with EPERM: running a program, starting a process,
// writing to a file or to another process' memory, terminals, tracing, signals to others, mounts,
// modules, the clock, and what is not in the list of sandbox.cpp.
Result<void> enter_sandbox(const SandboxOptions& options = {});

}  // namespace ioc_exporter::app
