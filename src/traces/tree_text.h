// A trace as a tree with its times, for a terminal.
#pragma once

#include <string>

#include "traces/trace.h"

namespace ioc_exporter::traces {

// Text of a trace: its cause, its id, and a line for each span with start, duration, own time and
// place. '*' marks the slowest branch: at each record, the slowest of those that it processed.
// Control characters are removed from names.
// Ends with an empty line.
std::string tree_text(const Trace& trace, bool coloured);

}  // namespace ioc_exporter::traces
