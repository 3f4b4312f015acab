#include "app/status_command.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/command_line.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::seconds kInterval{2};

constexpr const char* kStatusHelp =
    R"help(  Asks the ioc_exporter that runs on the IOCs' host, and prints IOCs, the busiest records, stuck
  ones, clients, the latest puts and notes. Rates are averages since the previous request, or over
  one second; a record has no times ("not timed") unless each call of its IOC is timed.

OPTIONS
  --watch     print it again every two seconds, until Ctrl-C
  --json      the same as JSON
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage
)help";

CommandResult print_status(const CommandLine& line, std::FILE* out) {
  const bool watch = line.given.contains("watch");
  const bool clears = watch && ::isatty(::fileno(out)) == 1;
  const std::string target =
      std::string("/?format=") + (line.given.contains("json") ? "json" : "text");
  while (true) {
    CommandResult page = print_answer(line, target);
    if (page.status != kDone || !watch) return page;
    if (!write_text(out, (clears ? "\x1b[H\x1b[2J" : "") + page.out)) return {kFailed};
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace

Command status_command() {
  return {"status",
          "",
          "IOCs, the busiest records, puts: the page at /",
          kStatusHelp,
          {{}, {"watch", "json"}},
          print_status};
}

}  // namespace ioc_exporter::app
