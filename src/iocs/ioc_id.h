// IocId: identity of a process. The kernel reuses pids, so that the start time belongs to it.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>

namespace ioc_exporter::iocs {

// An exec does not change it: an IOC that becomes another one so ends, then starts with the same
// id.
struct IocId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot: field 22 of /proc/PID/stat (proc(5))

  auto operator<=>(const IocId&) const = default;
};

// What starts an IOC again when it has ended.
struct Supervisor {
  std::string name;  // "procServ", "systemd", "container": its runtime; "": nothing that is known
  IocId process;     // of procServ

  bool operator==(const Supervisor&) const = default;
};

}  // namespace ioc_exporter::iocs
