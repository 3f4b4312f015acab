#include "puts/who_wrote_command.h"

#include "base/query.h"
#include "base/value_text.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::ca {
namespace {

constexpr const char* kHelp = R"help(NAME
  ioc_exporter who-wrote - who wrote to a PV last

SYNOPSIS
  ioc_exporter who-wrote [--url=URL] [--limit=N] [--json] PV

DESCRIPTION
  Asks the ioc_exporter that runs on the IOC's host for the last put of every client to PV, and
  to every other name of the same record: its fields, its aliases, names with modifiers. Prints
  one line for each PV name, client, user, host and operation, the latest first:

    TIME       when it wrote last, in the exporter's local time
    AGO        the same, counted from now
    IOC        the IOC, by its name on /metrics
    PV         the name that the client used
    CLIENT     the address that the put came from
    USER HOST  what the client said about itself
    OPERATION  write, write_notify (a put with callback), or put (PV Access)
    PUTS       how many since the exporter saw the first

  "-" is what the exporter does not know. Puts are listed whether or not the IOC carried them out
  (epics_put_failures_total on /metrics counts those that it refused), and only those since
  the exporter started. Any user may ask.

  Lines below the table list other writes to the record, by the sources of
  epics_record_writes_total: by the IOC itself, and by clients under a name that is not known.
  "Nobody wrote" is printed only if the record's writes are counted and there are none.

OPTIONS
@exporter@
  --limit=N   print the last N lines only, 0 for all (default: 20)
  --json      print the exporter's answer as it is, times in seconds since 1970
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage

EXAMPLES
  ioc_exporter who-wrote SR:B1:Current-SP
  ioc_exporter who-wrote --url=http://ioc-host:10064 SR:B1:Current-SP.DRVH
)help";

Result<std::string> target_of(const CommandLine& line) {
  const auto limit = parse_whole_number(line.values.at("limit"), 0, UINT64_MAX);
  if (!limit) return error_in_words("--limit: " + limit.error().message());
  return std::string(kWhoWrotePath) + "?pv=" + percent_encoded(line.words.front()) +
         (line.given.contains("json") ? "" : "&format=text&limit=" + std::to_string(*limit));
}

}  // namespace

CommandResult who_wrote_command(int count, const char* const* arguments) {
  return run_page_command({"who-wrote", kHelp, "PV", {{{"limit", "20"}}, {"json"}}, target_of},
                          count, arguments);
}

}  // namespace ioc_exporter::ca
