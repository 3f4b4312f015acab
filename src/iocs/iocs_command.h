// ioc_exporter iocs learn: proposes which IOCs a site expects.
#pragma once

#include "base/command.h"

namespace ioc_exporter::iocs {

// `arguments` are those after "iocs". Statuses: 0 done; 1 the exporter does not give what it
// should; 2 wrong usage.
CommandResult iocs_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::iocs
