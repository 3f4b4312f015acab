// Who runs a process.
#pragma once

#include <sys/types.h>

#include "base/rooted_fs.h"

namespace ioc_exporter::iocs {

// Who started the process; 0 when it is gone. Not the owner of its files in /proc: a process can
// make that root.
uid_t user_of_process(const RootedFs& fs, pid_t pid);

}  // namespace ioc_exporter::iocs
