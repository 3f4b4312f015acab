// The flags of the command line, by cxxopts, from the option table.
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include <cxxopts.hpp>

#include "app/commands.h"
#include "app/options.h"
#include "app/version.h"

namespace ioc_exporter::app {
namespace {

using Takes = OptionValue::Takes;

// Hidden from --help: each --no-FLAG, which its option's own text names, and options that are gone.
constexpr const char* kHidden = "hidden";

std::shared_ptr<cxxopts::Value> value_of(const OptionRow& row) {
  if (!row.takes_argument()) return cxxopts::value<bool>();
  auto value = row.value.takes == Takes::several
                   ? cxxopts::value<std::vector<std::string>>()
                   : std::static_pointer_cast<cxxopts::Value>(cxxopts::value<std::string>());
  if (!row.value.default_text.empty()) value->default_value(row.value.default_text);
  return value;
}

cxxopts::Options describe(const OptionTable& table) {
  cxxopts::Options description(
      "ioc_exporter",
      "Prometheus exporter for EPICS IOC hosts: what every record does and who writes to it.\n"
      "IOCs are neither changed nor restarted. Durations: 500ms, 5s, 1m30s, 2h.\n"
      "\nCommands, each with --help:\n" +
          commands_text());
  description.set_width(100);
  const auto add = [&description](const std::string& title, const OptionRow& row) {
    if (row.flag.empty()) return;
    const std::string names = row.letter.empty() ? row.flag : row.letter + "," + row.flag;
    description.add_options(title)(names, row.help_text(), value_of(row), row.argument);
    if (row.has_no()) description.add_options(kHidden)("no-" + row.flag, "");
  };
  for (const OptionGroup& group : table.groups())
    for (const OptionRow& row : group.rows) add(group.title, row);
  for (const OptionRow& row : table.gone()) add(kHidden, row);
  return description;
}

std::string help_text(const cxxopts::Options& description, const OptionTable& table) {
  std::vector<std::string> titles;
  for (const OptionGroup& group : table.groups()) titles.push_back(group.title);
  return description.help(titles);
}

std::vector<std::string> lines_of(const cxxopts::ParseResult& parsed, const OptionRow& row) {
  std::vector<std::string> lines;
  for (const cxxopts::KeyValue& argument : parsed.arguments())
    if (argument.key() == row.flag) lines.push_back(argument.value());
  return lines;
}

// Nothing: the flag was not given.
std::vector<std::string> words_of(const cxxopts::ParseResult& parsed, const OptionRow& row) {
  if (row.has_no() && parsed.count("no-" + row.flag) > 0) return {"false"};
  if (row.flag.empty() || parsed.count(row.flag) == 0) return {};
  if (row.value.takes == Takes::lines) return lines_of(parsed, row);
  if (row.value.takes == Takes::several) return parsed[row.flag].as<std::vector<std::string>>();
  if (row.value.takes == Takes::one) return {parsed[row.flag].as<std::string>()};
  return {"true"};
}

FlagWords flags_of(const cxxopts::ParseResult& parsed, const OptionTable& table) {
  FlagWords flags;
  for (const OptionRow* const row : table.rows())
    if (auto words = words_of(parsed, *row); !words.empty()) flags[row->flag] = std::move(words);
  return flags;
}

// The site's file where the unit's folder has one.
std::string file_of_the_unit() {
  const char* const folder = std::getenv("CONFIGURATION_DIRECTORY");
  std::string file = folder == nullptr ? "" : std::string(folder) + "/ioc_exporter.yml";
  return access(file.c_str(), F_OK) == 0 ? file : "";
}

// Checks of options against each other.
Result<void> check_together(const Options& options) {
  if (options.config_check && options.config_file.empty() && options.web.config_file.empty())
    return error_in_words(
        "--config.check: which file? give --config.file or --web.config.file, too");
  if (!options.records.enabled && !options.ca.enabled)
    return error_in_words("all collectors are turned off");
  return {};
}

}  // namespace

Result<std::variant<Options, PrintAndExit>> parse_options(int argc, const char* const* argv) {
  using Answer = std::variant<Options, PrintAndExit>;
  try {
    Answer answer(std::in_place_type<Options>);
    Options& options = std::get<Options>(answer);
    const OptionTable table = option_table(options);
    cxxopts::Options description = describe(table);
    const auto parsed = description.parse(argc, argv);
    options.flags = flags_of(parsed, table);
    const auto wants = [&options](const char* flag) { return options.flags.contains(flag); };
    if (wants("version")) return Answer(PrintAndExit{version_text()});
    if (wants("help")) return Answer(PrintAndExit{help_text(description, table)});
    if (!parsed.unmatched().empty())
      return error_in_words("unexpected argument \"" + parsed.unmatched().front() + "\"");
    if (auto set = table.set_from_flags(options.flags); !set) return set.error();
    if (options.config_file.empty()) options.config_file = file_of_the_unit();
    if (auto good = check_together(options); !good) return good.error();
    return answer;
  } catch (const std::exception& problem) {  // cxxopts reports so; its texts name the option
    return error_in_words(problem.what());
  }
}

}  // namespace ioc_exporter::app
