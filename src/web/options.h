// Options of the web server.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/option_table.h"

namespace ioc_exporter::web {

struct Options {
  std::vector<std::string> listen = {":10064"};
  std::string telemetry_path = "/metrics";
  std::size_t max_requests = 8;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> lifecycle_users;
  std::string config_file;  // passwords, headers, TLS; "" = none
  bool lifecycle = false;   // POST /-/detach, /-/attach and /-/reload
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::web
