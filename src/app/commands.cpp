#include "app/commands.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

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

// A row is where the command is, in its room.
const std::vector<Command>& all() {
  static const std::vector<Command> kAll = {status_command(),         putlog::who_wrote_command(),
                                            putlog::puts_command(),   traces::trace_command(),
                                            records::links_command(), check_command(),
                                            iocs::iocs_command(),     iocs::iocs_learn_command(),
                                            policy_test_command(),    policy_learn_command()};
  return kAll;
}

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

int print(const CommandResult& result) {
  std::fputs(result.err.c_str(), stderr);
  if (write_text(stdout, result.out)) return result.status;
  std::fputs("ioc_exporter: write to standard output failed\n", stderr);
  return kFailed;
}

}  // namespace

std::optional<int> run_command(int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const std::string both = argc > 2 ? first + " " + argv[2] : "";
  const auto gone = std::ranges::find(kGoneCommands, first, &GoneCommand::name);
  if (gone != std::end(kGoneCommands))
    return print(
        {kWrongUsage, "", "ioc_exporter " + first + " is gone: use " + gone->instead + "\n"});
  for (const auto& [name, words] : {std::pair(both, 2), std::pair(first, 1)}) {
    const auto command = std::ranges::find(all(), name, &Command::name);
    if (command == all().end()) continue;
    signal(SIGPIPE, SIG_IGN);
    return print(run(*command, argc - 1 - words, argv + 1 + words));
  }
  const std::string group = commands_text(first + " ");  // policy
  if (group.empty()) return std::nullopt;
  const bool asks = both.ends_with(" --help") || both.ends_with(" -h");
  return print(
      {asks ? kDone : kWrongUsage, asks ? group : "", asks ? "" : "give one of\n" + group});
}

std::string commands_text(const std::string& start) {
  std::vector<TableRow> rows;
  for (const Command& one : all())
    if (std::string_view(one.name).starts_with(start))
      rows.push_back({std::string("  ioc_exporter ") + one.name + " " + one.word, one.what});
  return text_table(rows);
}

}  // namespace ioc_exporter::app
