// ioc_exporter who-wrote PV: asks the exporter that runs, and reads the put log's files for what
// was before.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::putlog {

// `arguments` are those after "who-wrote"; as run_page_command().
CommandResult who_wrote_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::putlog
