// Options of all rooms: the command line, parsed and checked as a whole.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "app/privileges.h"
#include "base/option_table.h"
#include "base/result.h"
#include "exposition/histogram_edges.h"
#include "exposition/limits.h"
#include "functions/options.h"
#include "iocs/options.h"
#include "putlog/options.h"
#include "puts/options.h"
#include "records/options.h"
#include "traces/options.h"
#include "traces/outlet_options.h"
#include "web/options.h"

namespace ioc_exporter::policy {
struct PolicyText;
}

namespace ioc_exporter::app {

enum class LogFormat { logfmt, json };

struct Options {
  web::Options web;
  iocs::Options iocs;
  records::Options records;
  puts::Options ca;
  functions::Options functions;
  putlog::Options putlog;
  traces::Options traces;
  traces::OutletOptions trace_outlets;
  exposition::SeriesSet series = exposition::SeriesSet::all;
  exposition::SeriesLimits limits;
  exposition::EdgeStep histogram_factor = exposition::kUsualStep;

  std::string config_file;                           // "" = none
  std::shared_ptr<const policy::PolicyText> policy;  // of that file; null: it has none
  std::string area, owner;                           // of this host, as the site calls them
  bool config_check = false;
  // Capabilities that stay after the start: those for attaching to IOCs that start later.
  Privileges privileges{
      .capabilities = {CAP_BPF, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE}};
  bool sandbox = true;  // a filter of system calls

  bool check = false;
  bool strict = false;
  std::optional<std::chrono::milliseconds> once;

  std::string log_level = "info";
  LogFormat log_format = LogFormat::logfmt;

  std::vector<std::string> gone;  // what was set without effect, in words: to be reported

  FlagWords flags;  // as they were given: they stand above the configuration file
};

// The rows of all rooms; they refer to `options`.
OptionTable option_table(Options& options);

// The text to print and end with, status 0: --help and --version.
struct PrintAndExit {
  std::string text;
};

// Errors are usage errors: they name the option and the problem of its value.
Result<std::variant<Options, PrintAndExit>> parse_options(int argc, const char* const* argv);

}  // namespace ioc_exporter::app
