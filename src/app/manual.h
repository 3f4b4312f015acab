// The reference of options in docs/configuration.md, made of the option table.
#pragma once

#include <string>

#include "base/option_table.h"

namespace ioc_exporter::app {

// A table in Markdown for each group.
std::string option_reference(const OptionTable& table);

}  // namespace ioc_exporter::app
