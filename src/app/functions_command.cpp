#include "app/functions_command.h"

#include <algorithm>
#include <chrono>

#include "app/confinement.h"
#include "app/functions_session.h"
#include "app/logging.h"
#include "app/privileges.h"
#include "app/site_config.h"
#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::hours kLongest{1};
constexpr std::size_t kMostMemory = std::size_t{1} << 30;

constexpr const char* kHelp = R"help(NAME
  ioc_exporter functions - what can be probed in an IOC, and what descriptions would give

SYNOPSIS
  ioc_exporter functions [--for=TIME] [--json] [--config.file=FILE] IOC [GLOB]
  ioc_exporter functions try [--for=TIME] [--json] [--config.file=FILE] FILE [IOC]

DESCRIPTION
  Looks at IOCs of this host by itself, beside an exporter that runs. It counts with the same probes,
  under the same budget, and needs the same rights: without them it lists, and does not count.

  functions IOC        How many functions with a name each file has that the IOC maps.
  functions IOC GLOB   Those whose symbol or demangled name GLOB stands for (* and ?), by file:
    SYMBOL        as a description names it (docs/functions.md)
    SIZE          bytes of code
    UNWINDING     what the table for exceptions (.eh_frame) says: "lands", the function has a table
                  of its own (LSDA) for destructors, catch or noexcept; "passes", it has none, an
                  exception passes through; "none", an exception that gets to it ends the process
    CALLS         in this IOC, and CALLS/S a second, of 32 functions at most, and not of libraries
                  that other programs use, too (libc, libCom). "off": --overhead.budget, or an IOC
                  that is stopped or traced
    DESCRIBED BY  descriptions of --config.file and of presets that are about it
    TIMED         "yes", or why its calls can only be counted

  functions try FILE   What the keys functions and walks of FILE would give in all IOCs or in one:
                       where each description was found, and its series. SIGINT ends it early.

OPTIONS
  --for=TIME          how long to count, 1h at most (default: 5s; of try 10s)
  --json              print JSON
  --config.file=FILE, --overhead.budget=PERCENT
                      as the exporter has them

EXIT STATUS
  0 printed; 1 no such IOC, no such function, or a description of FILE was not found; 2 wrong usage

EXAMPLES
  ioc_exporter functions hid '*Driver*'
  ioc_exporter functions try --for=1m mydriver.yml hid
)help";

Result<FunctionsAsked> parse(int count, const char* const* arguments, const char* time) {
  const auto line = parse_command(
      {{{"for", time}, {"config.file", ""}, {"overhead.budget", ""}}, {"json"}}, count, arguments);
  if (!line) return line.error();
  FunctionsAsked asked;
  asked.json = line->given.contains("json");
  asked.words = line->words;
  const auto wanted = parse_duration(line->values.at("for"));
  if (!wanted) return error_in_words("--for: " + wanted.error().message());
  if (wanted->count() == 0 || *wanted > kLongest)
    return error_in_words("--for: " + shown(line->values.at("for")) + " is not up to 1h");
  asked.time = *wanted;
  // The exporter's own options.
  std::vector<std::string> flags{"ioc_exporter"};
  for (const std::string name : {"config.file", "overhead.budget"})
    if (line->given.contains(name)) flags.push_back("--" + name + "=" + line->values.at(name));
  std::vector<const char*> words;
  for (const std::string& flag : flags) words.push_back(flag.c_str());
  auto parsed = parse_options(static_cast<int>(words.size()), words.data());
  if (!parsed) return parsed.error();
  Options& options = std::get<Options>(*parsed);
  if (auto chosen = choose_user(options.privileges); !chosen) return chosen.error();
  auto site = site_config(options);
  if (!site) return site.error();
  asked.options = std::move(site->options);
  return asked;
}

}  // namespace

int functions_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (std::any_of(arguments, arguments + count, is_help)) return written(out, err, kHelp, 0);
  const bool is_trial = count > 0 && std::string_view(arguments[0]) == "try";
  const auto asked =
      is_trial ? parse(count - 1, arguments + 1, "10s") : parse(count, arguments, "5s");
  const auto usage = [err](const std::string& why) {
    return failed(err, kCommandUsage, why + " (see ioc_exporter functions --help)");
  };
  if (!asked) return usage(asked.error().message());
  if (asked->words.empty()) return usage(is_trial ? "no file was given" : "no IOC was given");
  if (asked->words.size() > 2)
    return usage("unexpected argument \"" + terminal_cell(asked->words[2]) + "\"");
  set_up_logging("error", LogFormat::logfmt);  // of the IOCs that nobody asks about
  // Symbols are an IOC's own.
  if (const auto limited = limit_memory(kMostMemory); !limited)
    return failed(err, kCommandFailed, limited.error().message());
  return is_trial ? try_functions_command(*asked, out, err)
                  : list_functions_command(*asked, out, err);
}

}  // namespace ioc_exporter::app
