#include "records/graph_command.h"

#include <algorithm>

#include "base/query.h"
#include "base/utf8.h"
#include "records/graph.h"

namespace ioc_exporter::records {
namespace {

constexpr int kFailed = 1, kUsage = 2;

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

CommandResult failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter graph: " + why + "\n"};
}

Result<CommandLine> parse(int count, const char* const* arguments) {
  auto line =
      parse_command(with_exporter_options({{{"ioc", ""}, {"depth", "5"}, {"format", "tree"}}, {}}),
                    count, arguments);
  if (!line || line->given.contains("help")) return line;
  if (line->words.empty()) return error_in_words("no record was given");
  if (line->words.size() > 1)
    return error_in_words("one record at a time: " + line->words[0] + " and " + line->words[1]);
  const std::string& format = line->values.at("format");
  if (format != "tree" && format != "dot")
    return error_in_words("--format: \"" + format + "\" is neither tree nor dot");
  const std::string& depth = line->values.at("depth");
  if (depth.empty() || depth.size() > 3 ||
      !std::ranges::all_of(depth, [](char c) { return c >= '0' && c <= '9'; }) ||
      std::stoi(depth) > static_cast<int>(kMostGraphDepth))
    return error_in_words("--depth: \"" + depth + "\" is not 0 to " +
                          std::to_string(kMostGraphDepth));
  return line;
}

// Line by line, with the blanks at its start.
std::string for_terminal(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    clean.append(blanks, ' ');
    clean += printable_utf8(line, line.size()) + "\n";
  }
  return clean;
}

}  // namespace

CommandResult graph_command(int count, const char* const* arguments) {
  const auto line = parse(count, arguments);
  if (!line) return failed(kUsage, line.error().message() + " (see ioc_exporter graph --help)");
  if (line->given.contains("help")) return {0, with_exporter_help(kHelp), ""};
  const bool dot = line->values.at("format") == "dot";
  const auto answer = ask_exporter(
      *line, std::string(kGraphPath) + "?record=" + percent_encoded(line->words.front()) +
                 "&ioc=" + percent_encoded(line->values.at("ioc")) +
                 "&depth=" + line->values.at("depth") + "&format=" + (dot ? "dot" : "text"));
  if (!answer) return failed(kFailed, answer.error().message());
  if (!answer->starts_with(dot ? "digraph " : "RECORD "))
    return failed(kFailed, not_an_exporter(*line, "it sends no graph").message());
  return {0, for_terminal(*answer), ""};
}

}  // namespace ioc_exporter::records
