// Supervisor: who starts an IOC again when it has ended, as its ancestors and its cgroup say:
// procServ, systemd, or a container's runtime.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rooted_fs.h"
#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

// The nearest procServ above the process.
std::optional<IocId> find_procserv(const RootedFs& fs, pid_t pid);

// The child's name by -n or --name in procServ's arguments; "": none.
std::string procserv_name(const std::vector<std::string>& arguments);

// Of the process, which `thread` of it shows. A process in a container has its runtime, unless a
// procServ runs in there or it was added to a running one (`docker exec`); one that systemd, or a
// script of its unit, started has systemd.
Supervisor find_supervisor(const RootedFs& fs, pid_t pid, pid_t thread);

}  // namespace ioc_exporter::iocs
