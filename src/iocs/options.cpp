#include "iocs/options.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::iocs {
namespace {

// As a label has it.
bool is_name(const std::string& name) {
  return !name.empty() && printable_utf8(name, name.size()) == name;
}

}  // namespace

Result<std::vector<std::string>> expected_from_text(const std::string& text) {
  std::vector<std::string> names;
  std::size_t number = 0;
  for (std::string_view lines = text; !lines.empty();) {
    std::string_view line = take_line(lines);
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::string name(line);
    if (!is_name(name))
      return error_in_words("line " + std::to_string(number) + ": no name of an IOC");
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<std::string>> read_expected(const ExpectedOptions& options) {
  std::vector<std::string> all = options.names;
  for (const std::string& name : all)
    if (!is_name(name)) return error_in_words("iocs.expected: \"" + name + "\" is no name");
  if (!options.file.empty()) {
    auto text = read_text(options.file);
    if (!text) return std::move(text).error();
    auto names = expected_from_text(*text);
    if (!names) return error_in_words(options.file + ": " + names.error().message());
    for (std::string& name : *names)
      if (!options.match || options.match->matches(name)) all.push_back(std::move(name));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kMostExpected)
    return error_in_words("iocs.expected: " + std::to_string(all.size()) + " names, more than " +
                          std::to_string(kMostExpected));
  return all;
}

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
  table.add(
      "IOCs",
      {{"--ioc.include=RE iocs.include", "Only IOCs whose whole name this expression (RE2) matches",
        pattern(options.filter.include), "ioc.exclude"},
       {"--ioc.exclude=RE iocs.exclude", "No IOCs whose whole name this expression (RE2) matches",
        pattern(options.filter.exclude), "ioc.include"},
       {"--ioc.name-source=LIST iocs.name_sources",
        "Sources of an IOC's name, the first that has one: env:VARIABLE, script, procserv, exe, "
        "container, pod",
        name_sources(options.name_sources)},
       {"--ioc.keep-gone=DURATION",
        "How long an IOC that has ended stays on /metrics as epics_ioc_up 0, and its "
        "name with its user",
        duration(options.keep_gone)},
       {"iocs.expected=LIST",
        "Names of IOCs that are expected on this host (ioc_exporter iocs learn)",
        texts(options.expected.names)},
       {"iocs.expected_file=FILE", "File with more names, one per line; # begins a comment",
        text(options.expected.file)},
       {"iocs.expected_match=RE", "Only names of that file that this expression (RE2) matches",
        pattern(options.expected.match)},
       {"--state.directory=DIR",
        "Folder for names of open channels, or none; default: $STATE_DIRECTORY",
        state_folder(options.state_folder)},
       {"--discovery.interval=DURATION", "How often to look for IOCs",
        duration(options.interval, std::chrono::milliseconds(100))}});
}

}  // namespace ioc_exporter::iocs
