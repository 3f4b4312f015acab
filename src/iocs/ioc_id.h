// IocId: which process, for good. A pid alone is no identity, the kernel gives it out again.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>

namespace ioc_exporter::iocs {

// Clock ticks since boot at which the process started (field 22 of /proc/PID/stat, proc(5)); an
// exec does not change it, so a process that became another IOC in place is first ended, then
// started.
struct IocId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;

  auto operator<=>(const IocId&) const = default;
};

// What starts an IOC again when it has ended.
struct Supervisor {
  std::string name;  // "procServ", "systemd", "container": its runtime; "": nothing that is known
  IocId process;     // of procServ

  bool operator==(const Supervisor&) const = default;
};

}  // namespace ioc_exporter::iocs
