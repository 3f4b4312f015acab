// Which ioc_exporter this is.
#pragma once

#include <string>

#include "app/self_families.h"

namespace ioc_exporter::app {

BuildInfo build_info();

// "ioc_exporter 0.2.0 (revision 1a2b3c4, 2026-11-27, GNU 12.2.0)\n", and lines about the HTTP
// server and what this kernel has.
std::string version_text();

}  // namespace ioc_exporter::app
