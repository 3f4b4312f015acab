// ioc_exporter status: the exporter's page at "/" as text.
#pragma once

#include <cstdio>

namespace ioc_exporter::app {

// `arguments` are those after "status". Statuses: 0 it is printed, 1 no exporter answered (as it
// should), 2 wrong usage.
int status_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

}  // namespace ioc_exporter::app
