// What an operator types: the command line, parsed and checked as a whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/config.h"
#include "app/privileges.h"
#include "iocs/ioc_filter.h"
#include "iocs/ioc_name.h"
#include "base/pattern.h"
#include "base/result.h"

namespace ioc_exporter::app {

enum class LogFormat { logfmt, json };

struct Options {
  std::vector<std::string> listen;
  std::string telemetry_path;
  std::size_t max_requests = 0;
  bool lifecycle = false;  // POST /-/detach, /-/attach and /-/reload

  iocs::IocFilter filter;
  bool filter_given = false;  // by a flag: it stands above the configuration file
  std::vector<iocs::NameSource> name_sources;
  bool name_sources_given = false;
  std::chrono::milliseconds keep_gone{};
  std::chrono::milliseconds discovery_interval{};

  bool records = true;  // collectors
  bool puts = true;
  std::uint32_t record_threads = 0;
  std::uint32_t timed_rate = 0;     // timed processings of one record a second; 0 = all
  bool record_causes = false;       // each record's processings by cause
  std::uint32_t record_links = 0;   // edges from record to record that are counted; 0 = none
  bool record_puts = true;          // writes inside the IOC
  bool record_put_clients = false;  // writes by CA with their client
  std::chrono::milliseconds stuck_after{};  // how long a record may be active
  double overhead_budget = 0;               // percent of one core for each IOC; 0 = no bound

  std::vector<std::uint16_t> server_ports;  // of CA servers, whatever listens there
  bool remote_servers = false;
  std::uint32_t max_channels = 0;
  std::uint32_t max_circuits = 0;
  std::string pin_directory;    // "" = none
  bool pin_is_default = false;  // nobody asked for it: without a bpffs it is none

  std::string config_file;      // "" = none
  std::string web_config_file;  // the same
  bool config_check = false;
  // What flags say stands above the configuration file.
  NameFilter records_shown, pvs_shown;
  std::optional<std::chrono::milliseconds> put_expiry;
  Limits limits;
  Privileges privileges;  // what is kept once all is opened
  bool sandbox = true;    // a filter of system calls

  bool check = false;
  bool strict = false;
  std::optional<std::chrono::milliseconds> once;

  std::string log_level;
  LogFormat log_format = LogFormat::logfmt;
};

// The text to print and end with, status 0: --help and --version.
struct PrintAndExit {
  std::string text;
};

// Errors are usage errors: they name the option and what is wrong with its value.
Result<std::variant<Options, PrintAndExit>> parse_options(int argc, const char* const* argv);

}  // namespace ioc_exporter::app
