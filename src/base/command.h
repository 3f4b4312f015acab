// Output and exit status of a command: ioc_exporter who-wrote, graph, policy.
#pragma once

#include <string>

namespace ioc_exporter {

struct CommandResult {
  int status = 0;
  std::string out;  // to standard output
  std::string err;  // to standard error, lines
};

}  // namespace ioc_exporter
