// BPF tells processes by their ids in the initial pid namespace: elsewhere, /proc shows other
// numbers.
#pragma once

#include <string>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {

// An error, which begins with `action`: this process is not in it.
Result<void> in_initial_pid_namespace(const RootedFs& fs, const std::string& action);

}  // namespace ioc_exporter
