// ioc_exporter top: which records, IOCs and clients are busy, on a terminal.
#pragma once

#include <cstdio>

namespace ioc_exporter::top {

// Statuses: 0 done, 1 no exporter answered (as it should), 2 wrong usage. `arguments` are those
// after "top".
int top_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

}  // namespace ioc_exporter::top
