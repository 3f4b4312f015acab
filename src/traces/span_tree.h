// The tree of a trace's spans, from the lists that the kernel gives in the order of their ends.
#pragma once

#include <vector>

#include "traces/trace.h"

namespace ioc_exporter::traces {

// Puts the root first, and each span before its children, in the order of their starts. Spans
// without a parent become the root's children. Returns whether there were any.
bool order_spans(std::vector<Span>& spans);

// EPICS' names of severities and alarms: "MAJOR", "HIHI"; "" for none and for unknown numbers.
const char* severity_name(unsigned severity);
const char* status_name(unsigned status);

}  // namespace ioc_exporter::traces
