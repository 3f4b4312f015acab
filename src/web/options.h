// What an operator may set about the web server.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ioc_exporter::web {

struct Options {
  std::vector<std::string> listen;
  std::string telemetry_path;
  std::size_t max_requests = 0;
  std::string config_file;  // passwords, headers, rate limit; "" = none
  bool lifecycle = false;   // POST /-/detach, /-/attach and /-/reload
};

}  // namespace ioc_exporter::web
