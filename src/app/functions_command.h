// ioc_exporter functions: what can be probed in an IOC that runs, and what descriptions would give.
#pragma once

#include <cstdio>

namespace ioc_exporter::app {

// `arguments` are those after "functions". Statuses: 0 done; 1 the IOC is not there, nothing
// matches, or not every description was found; 2 wrong usage.
int functions_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

}  // namespace ioc_exporter::app
