// Whose requests a thread of a server carries out, where it has one client only: the thread waits
// in recv(2) for that client, and /proc/PID/task/TID/syscall (proc(5)) tells on which descriptor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::records {

// The descriptor that a thread is waiting on for data, from the text of that file; -1: it does
// something else now.
int waits_on_descriptor(std::string_view text);

// Addresses ("10.0.0.7", no port) of the clients that these threads of the process wait for now. A
// thread that is busy, gone, or waits for something else is left out. The file may only be read by
// who may trace the process (PTRACE_MODE_ATTACH_FSCREDS).
Result<std::map<std::uint32_t, std::string>> clients_of_threads(
    const RootedFs& fs, pid_t pid, const std::set<std::uint32_t>& threads);

}  // namespace ioc_exporter::records
