// Commands of ioc_exporter: all but the exporter itself.
#pragma once

#include <optional>
#include <string>

namespace ioc_exporter::app {

// The exit status of the command that argv[1] names; nothing: it names none.
std::optional<int> run_command(int argc, const char* const* argv);

// For --help: a line each of those whose names start so.
std::string commands_text(const std::string& start = "");

}  // namespace ioc_exporter::app
