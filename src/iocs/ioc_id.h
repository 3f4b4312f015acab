// IocId: which process, for good. A pid alone is no identity, the kernel gives it out again.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace ioc_exporter::iocs {

// Clock ticks since boot at which the process started (field 22 of /proc/PID/stat, proc(5)); an
// exec does not change it, so a process that became another IOC in place is first ended, then
// started.
struct IocId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;

  auto operator<=>(const IocId&) const = default;
};

}  // namespace ioc_exporter::iocs
