// ioc_exporter iocs learn|forget: proposes which IOCs a site expects, and has the exporter forget
// those that it remembers.
#pragma once

#include "base/command.h"

namespace ioc_exporter::iocs {

// `arguments` are those after "iocs". Statuses: 0 done; 1 the exporter or the folder does not give
// what it should; 2 wrong usage; 3 of forget: no such IOC is remembered, or it runs.
CommandResult iocs_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::iocs
