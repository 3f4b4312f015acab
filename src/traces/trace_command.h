// ioc_exporter trace: live traces of chains of records, as trees.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::traces {

// Prints traces as they come.
Command trace_command();

}  // namespace ioc_exporter::traces
