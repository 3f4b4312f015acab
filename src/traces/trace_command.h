// ioc_exporter trace: live traces of chains of records, as trees.
#pragma once

#include <cstdio>

namespace ioc_exporter::traces {

// Statuses: 0 done, 1 no exporter answered (as it should), 2 wrong usage, 3 there were no such
// traces. `arguments` are those after "trace". Prints as traces come.
int trace_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

}  // namespace ioc_exporter::traces
