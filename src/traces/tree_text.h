// A trace as a tree with its times, for people who read a terminal.
#pragma once

#include <string>

#include "traces/trace.h"

namespace ioc_exporter::traces {

// What began it, which trace it is, and a line for each span: when it started, how long it took,
// what of that was its own, and where it stands. '*' marks the slowest branch: at each record, the
// one that took longest of those that it set in motion. Names lose what could steer a terminal.
// Ends with an empty line.
std::string tree_text(const Trace& trace, bool coloured);

}  // namespace ioc_exporter::traces
