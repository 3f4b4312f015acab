#include "iocs/options.h"

#include <utility>

namespace ioc_exporter::iocs {
namespace {

OptionValue name_sources(std::vector<NameSource>& into) {
  OptionValue value;
  value.takes = OptionValue::Takes::several;
  for (const NameSource& source : into)
    value.default_text.append(value.default_text.empty() ? "" : ",").append(source.text());
  value.set = [&into](const std::string& word, bool first) -> Result<void> {
    auto source = parse_name_source(word);
    if (!source) return source.error();
    if (first) into.clear();
    into.push_back(std::move(*source));
    return {};
  };
  return value;
}

OptionValue state_folder(std::optional<std::string>& into) {
  return {.set = [&into](const std::string& word, bool) -> Result<void> {
    if (word != "none" && !word.starts_with('/'))
      return error_in_words(shown(word) + " is neither an absolute path nor none");
    into = word == "none" ? "" : word;
    return {};
  }};
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add("IOCs",
            {{.flag = "ioc.include",
              .argument = "RE",
              .key = "iocs.include",
              .help = "Only IOCs whose whole name this expression (RE2) matches",
              .value = pattern(options.filter.include),
              .taken_back_by = "ioc.exclude"},
             {.flag = "ioc.exclude",
              .argument = "RE",
              .key = "iocs.exclude",
              .help = "No IOCs whose whole name this expression (RE2) matches",
              .value = pattern(options.filter.exclude),
              .taken_back_by = "ioc.include"},
             {.flag = "ioc.name-source",
              .argument = "LIST",
              .key = "iocs.name_sources",
              .help = "Sources of an IOC's name, the first that has one: env:VARIABLE, script, "
                      "exe, container, pod",
              .value = name_sources(options.name_sources)},
             {.flag = "ioc.keep-gone",
              .argument = "DURATION",
              .help = "How long an IOC that has ended stays on /metrics as epics_ioc_up 0",
              .value = duration(options.keep_gone)},
             {.argument = "LIST",
              .key = "iocs.expected",
              .help = "Names of IOCs that are expected on this host (ioc_exporter iocs learn)",
              .value = texts(options.expected.names)},
             {.argument = "FILE",
              .key = "iocs.expected_file",
              .help = "File with more names, one per line; # begins a comment",
              .value = text(options.expected.file)},
             {.argument = "RE",
              .key = "iocs.expected_match",
              .help = "Only names of that file that this expression (RE2) matches",
              .value = pattern(options.expected.match)},
             {.flag = "state.directory",
              .argument = "DIR",
              .help = "Folder for the habits of records, or none; default: $STATE_DIRECTORY",
              .value = state_folder(options.state_folder)},
             {.flag = "discovery.interval",
              .argument = "DURATION",
              .help = "How often to look for IOCs",
              .value = duration(options.interval, std::chrono::milliseconds(100))}});
}

}  // namespace ioc_exporter::iocs
