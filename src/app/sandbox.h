// Sandbox: a seccomp filter that refuses the system calls which an exporter that runs never makes.
// It stands besides the capabilities: what a bug, or bytes made to use one, could do with them.
#pragma once

#include "base/result.h"

namespace ioc_exporter::app {

struct SandboxOptions {
  // Other network namespaces may be entered, and BPF programs loaded, as each of them needs its
  // own.
  bool net_namespaces = true;
};

// For all threads and for good. What is refused fails with EPERM: running a program, starting a
// process, writing to a file or to another process' memory, tracing, signals to others, mounts,
// modules, the clock, reboot, and all that is listed in docs/security.md.
Result<void> enter_sandbox(const SandboxOptions& options = {});

}  // namespace ioc_exporter::app
