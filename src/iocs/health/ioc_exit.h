// End of a process, as its parent gets it from wait(2).
#pragma once

#include <cstdint>
#include <string>

namespace ioc_exporter::iocs {

// As the labels of epics_ioc_last_exit_info.
struct IocExit {
  std::string reason;  // "exit", "signal", or "core_dump": a signal after which a core was written
  std::string status;  // what it returned: "0"; "" for signals
  std::string signal;  // "SIGSEGV"; "" when there was none

  bool operator==(const IocExit&) const = default;
};

IocExit exit_of_status(std::int32_t wait_status);
// "exit status 1", "SIGSEGV", "SIGSEGV, a core was dumped".
std::string in_words(const IocExit& exit);

}  // namespace ioc_exporter::iocs
