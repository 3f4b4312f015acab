// ioc_exporter status: the exporter's page at "/" as text.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::app {

Command status_command();

}  // namespace ioc_exporter::app
