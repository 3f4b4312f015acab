#include "app/status_command.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/command_line.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::seconds kInterval{2};

constexpr const char* kStatusHelp = R"help(NAME
  ioc_exporter status - what the exporter's page at / shows, as text

SYNOPSIS
  ioc_exporter status [--watch] [--url=URL]

DESCRIPTION
  Asks the ioc_exporter that runs on the IOCs' host, and prints IOCs, the busiest records, stuck
  ones, clients, the latest puts, limits, probes and notes. Rates are averages since the
  previous request, or over one second; a record has no times ("not timed") unless each call of its
  IOC is timed.

OPTIONS
  --watch   print it again every two seconds, until Ctrl-C
@exporter@
  --help    print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage
)help";

bool put(std::FILE* out, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

}  // namespace

int status_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const PageCommand status{
      "status", kStatusHelp, "", {{}, {"watch"}}, [](const CommandLine&) -> Result<std::string> {
        return std::string("/?format=text");
      }};
  const auto line = parse_command(with_exporter_options(status.options), count, arguments);
  const bool watch = line && line->given.contains("watch") && !line->given.contains("help");
  const bool clears = watch && ::isatty(::fileno(out)) == 1;
  while (true) {
    const CommandResult page = run_page_command(status, count, arguments);
    std::fputs(page.err.c_str(), err);
    if (page.status != 0) return page.status;
    if (!put(out, (clears ? "\x1b[H\x1b[2J" : "") + page.out)) return 1;
    if (!watch) return 0;
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace ioc_exporter::app
