#include "app/status_command.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/command_line.h"
#include "base/value_text.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::seconds kInterval{2};

constexpr const char* kStatusHelp = R"help(NAME
  ioc_exporter status - what the exporter's page at / shows, as text

SYNOPSIS
  ioc_exporter status [--watch] [--url=URL]

DESCRIPTION
  Asks the ioc_exporter that runs on the IOCs' host, and prints IOCs, the busiest records, stuck
  ones, clients, the latest puts, limits, probes and notes. Rates are those since the page was asked
  for before, or of one second; a record has no times ("not timed") unless each call of its IOC is
  timed.

OPTIONS
  --watch   print it again every two seconds, until Ctrl-C
@exporter@
  --help    print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage
)help";

int fail_with(std::FILE* err, int status, const std::string& why) {
  std::fprintf(err, "ioc_exporter status: %s\n", why.c_str());
  return status;
}

bool put(std::FILE* out, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

}  // namespace

int status_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const auto line = parse_command(with_exporter_options({{}, {"watch"}}), count, arguments);
  const std::string hint = " (see ioc_exporter status --help)";
  if (!line) return fail_with(err, 2, line.error().message() + hint);
  if (line->given.contains("help")) return put(out, with_exporter_help(kStatusHelp)) ? 0 : 1;
  if (!line->words.empty())
    return fail_with(err, 2, "unexpected argument " + shown(line->words.front()) + hint);
  const bool watch = line->given.contains("watch");
  const bool clears = watch && ::isatty(::fileno(out)) == 1;
  while (true) {
    const auto page = ask_for_page(*line, "/?format=text");
    if (!page) return fail_with(err, 1, page.error().message());
    if (!put(out, (clears ? "\x1b[H\x1b[2J" : "") + *page)) return 1;
    if (!watch) return 0;
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace ioc_exporter::app
