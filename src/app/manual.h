// The manual page and the completion of bash, from the same descriptions that --help shows.
#pragma once

#include <string>
#include <vector>

namespace ioc_exporter::app {

struct OptionText {
  std::string name;         // without dashes: "log.level"
  std::string argument;     // "LEVEL"; "" = it takes none
  std::string description;  // without a full stop at its end
  std::string default_value;
};
struct OptionGroup {
  std::string title;
  std::vector<OptionText> options;
};

// troff (man(7)), section 8.
std::string man_page(const std::vector<OptionGroup>& groups);

// To be sourced by bash; bash-completion finds it under the name of the program.
std::string bash_completion(const std::vector<OptionGroup>& groups);

}  // namespace ioc_exporter::app
