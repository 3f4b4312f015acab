// The words behind a command: "--name=value" or "--name value", and what is no option.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace ioc_exporter {

struct CommandWords {
  std::map<std::string, std::string> options;  // by name, the last of each
  std::vector<std::string> others;
};

// All options have a value. Errors name the word.
Result<CommandWords> parse_command_words(int count, const char* const* words,
                                         const std::set<std::string>& known);

}  // namespace ioc_exporter
