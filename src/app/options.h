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
#include "base/pattern.h"
#include "base/result.h"
#include "ca/options.h"
#include "iocs/options.h"
#include "records/options.h"
#include "web/options.h"

namespace ioc_exporter::app {

enum class LogFormat { logfmt, json };

struct Options {
  web::Options web;
  iocs::Options iocs;
  records::Options records;
  ca::Options ca;

  bool filter_given = false;  // by a flag: it stands above the configuration file
  bool name_sources_given = false;

  std::string config_file;  // "" = none
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
