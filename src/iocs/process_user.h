// Who runs a process.
#pragma once

#include <sys/types.h>

#include "base/rooted_fs.h"

namespace ioc_exporter::iocs {

inline constexpr uid_t kNoUser = static_cast<uid_t>(-1);

// Who started the process; kNoUser when it is gone. Not the owner of its files in /proc: a process
// can make that root.
uid_t user_of_process(const RootedFs& fs, pid_t pid);

}  // namespace ioc_exporter::iocs
