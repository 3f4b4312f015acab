// ioc_exporter graph RECORD: asks the exporter that runs.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::records {

// `arguments` are those after "graph". Statuses: 0 it is printed, 1 no exporter answered (as it
// should), or it knows no such record, 2 wrong usage.
CommandResult graph_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::records
