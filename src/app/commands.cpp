#include "app/commands.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "app/check_command.h"
#include "app/policy_command.h"
#include "app/status_command.h"
#include "base/value_text.h"
#include "iocs/iocs_command.h"
#include "putlog/puts_command.h"
#include "putlog/who_wrote_command.h"
#include "records/links_command.h"
#include "traces/trace_command.h"

namespace ioc_exporter::app {
namespace {

constexpr int kNotWritten = 1, kGone = 2;

using Run = int(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

// Of a command that gives all at its end.
template <CommandResult (*command)(int, const char* const*)>
int printed(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const CommandResult result = command(count, arguments);
  std::fputs(result.err.c_str(), err);
  const bool whole = std::fwrite(result.out.data(), 1, result.out.size(), out) == result.out.size();
  if (std::fflush(out) == 0 && whole) return result.status;
  std::fputs("ioc_exporter: write to standard output failed\n", err);
  return kNotWritten;
}

struct Command {
  std::string_view name;
  const char* arguments;
  const char* what;
  Run* run;
};

constexpr Command kCommands[] = {
    {"status", "", "IOCs, the busiest records, puts: the page at /", status_command},
    {"who-wrote", "PV", "who wrote to a PV last", printed<putlog::who_wrote_command>},
    {"puts", "", "puts as they come, or since a time, with their values", putlog::puts_command},
    {"trace", "RECORD", "what a record sets in motion, with times", traces::trace_command},
    {"links", "IOC", "Channel Access links of an IOC that are down",
     printed<records::links_command>},
    {"check", "--ioc=NAME", "whether an IOC is well, for Nagios", printed<check_command>},
    {"policy", "test|learn", "which puts the site expects", printed<policy_command>},
    {"iocs", "learn", "which IOCs the site expects", printed<iocs::iocs_command>},
};

// Of the release before.
struct GoneCommand {
  std::string_view name;
  const char* instead;
};
constexpr GoneCommand kGoneCommands[] = {
    {"graph", "ioc_exporter trace, which shows chains with --collector.traces"},
    {"top", "ioc_exporter status --watch"},
    {"locks", "gdb as in docs/runbooks/EpicsRecordsStuck.md"},
    {"functions", "ioc_exporter --config.check, and ioc_exporter status (docs/functions.md)"},
};

}  // namespace

std::optional<int> run_command(int argc, const char* const* argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto gone = std::ranges::find(kGoneCommands, name, &GoneCommand::name);
  if (gone != std::end(kGoneCommands)) {
    std::fprintf(stderr, "ioc_exporter %s is gone: use %s\n", argv[1], gone->instead);
    return kGone;
  }
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == std::end(kCommands)) return std::nullopt;
  signal(SIGPIPE, SIG_IGN);
  return command->run(argc - 2, argv + 2, stdout, stderr);
}

std::string commands_text() {
  std::vector<TableRow> rows;
  for (const Command& one : kCommands)
    rows.push_back({"  ioc_exporter " + std::string(one.name) + " " + one.arguments, one.what});
  return text_table(rows);
}

}  // namespace ioc_exporter::app
