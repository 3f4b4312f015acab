#include "records/graph_command.h"

#include "base/query.h"
#include "base/value_text.h"
#include "records/graph.h"

namespace ioc_exporter::records {
namespace {

constexpr const char* kHelp = R"help(NAME
  ioc_exporter graph - which records a record processes through its links, and what they cost

SYNOPSIS
  ioc_exporter graph [--ioc=IOC] [--depth=N] [--format=tree|dot] [--url=URL] RECORD

DESCRIPTION
  Asks the ioc_exporter that runs on the IOC's host, with --records.links, and prints RECORD (or
  the record that has this alias), below it the records that it processes, below them theirs, and
  so on. Counts and times are those since the exporter began to count:

    RECORD         indented by its distance from the first
    TYPE           record type
    LINK FOLLOWED  how often the record above made it process, also in another thread: CP and CPP
                   links, scanOnce, forward links of asynchronous records
    PROCESSED      how often it processed, for whatever reason
    SELF, EACH     how long its own part takes, without the records below it
    SELF, IN ALL   the same, summed up
    SHARE          how much that is of the time of all records in the tree

  A record's own links stand below it once. Where it comes again the last column says "shown
  above", or "cycle" where the record leads back to itself. At most 250 records and 500 links are
  printed, those that were followed most.

OPTIONS
  --ioc=IOC   the IOC, by its name on /metrics, when several have the record
  --depth=N   links from the first record to the last one, 0 to 100 (default: 5)
  --format=tree|dot
              the tree (default), or the graph in Graphviz' DOT language
@exporter@
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered or no IOC has the record, 2 wrong usage

EXAMPLES
  ioc_exporter graph SR:B1:Current-SP
  ioc_exporter graph --depth=3 --format=dot SR:B1:Current-SP | dot -Tsvg > graph.svg
)help";

Result<std::string> target_of(const CommandLine& line) {
  const std::string& format = line.values.at("format");
  if (format != "tree" && format != "dot")
    return error_in_words("--format: \"" + format + "\" is neither tree nor dot");
  const auto depth = parse_whole_number(line.values.at("depth"), 0, kMostGraphDepth);
  if (!depth) return error_in_words("--depth: " + depth.error().message());
  return std::string(kGraphPath) + "?record=" + percent_encoded(line.words.front()) +
         "&ioc=" + percent_encoded(line.values.at("ioc")) + "&depth=" + std::to_string(*depth) +
         "&format=" + (format == "dot" ? "dot" : "text");
}

}  // namespace

CommandResult graph_command(int count, const char* const* arguments) {
  return run_page_command({"graph",
                           kHelp,
                           "record",
                           {{{"ioc", ""}, {"depth", "5"}, {"format", "tree"}}, {}},
                           target_of},
                          count, arguments);
}

}  // namespace ioc_exporter::records
