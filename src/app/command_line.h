// The arguments of a command, and asking the exporter that runs: who-wrote, graph, policy.
#pragma once

#include <string>
#include <vector>

#include <cxxopts.hpp>

#include "base/result.h"

namespace ioc_exporter::app {

struct CommandLine {
  cxxopts::ParseResult options;
  std::vector<std::string> words;  // that are no options
};

// `arguments`: those after the command. Each of `options` should take a std::string, or be a flag:
// what a value means is the command's to say. Errors name the argument.
Result<CommandLine> parse_command(cxxopts::Options& options, int count,
                                  const char* const* arguments);

// --url and --login-file, of the commands that ask a running exporter.
void add_exporter_options(cxxopts::Options& options);

// The body of the exporter's answer to GET `target`, a path with its query. An answer with another
// status than 200 is an error too, in the exporter's own words.
Result<std::string> ask_exporter(const CommandLine& line, const std::string& target);

// What to say about an answer that is not as ioc_exporter's.
Error not_an_exporter(const CommandLine& line, const std::string& why);

// Nothing in `text`, which others chose, may steer the terminal. One line; "-" for none.
std::string terminal_cell(const std::string& text);

}  // namespace ioc_exporter::app
