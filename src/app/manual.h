// Texts made of the option table besides --help: the manual page, the completion of bash, and the
// reference in docs/configuration.md.
#pragma once

#include <string>

#include "base/option_table.h"

namespace ioc_exporter::app {

// troff (man(7)), section 8.
std::string man_page(const OptionTable& table);

// To be sourced by bash; bash-completion finds it under the name of the program.
std::string bash_completion(const OptionTable& table);

// A table in Markdown for each group.
std::string option_reference(const OptionTable& table);

}  // namespace ioc_exporter::app
