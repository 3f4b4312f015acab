#include "iocs/iocs_command.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/time_text.h"
#include "iocs/forgotten.h"
#include "iocs/ioc_list.h"
#include "iocs/seen_file.h"

namespace ioc_exporter::iocs {
namespace {

constexpr int kFailed = 1, kUsage = 2, kUnknown = 3;
constexpr const char* kDefaultFolder = "/var/lib/ioc_exporter";

constexpr const char* kHelp = R"help(NAME
  ioc_exporter iocs - which IOCs are expected on this host, and which are remembered

SYNOPSIS
  ioc_exporter iocs learn [--url=URL] [--user=USER] [--names]
  ioc_exporter iocs forget [--state=DIR] NAME...

DESCRIPTION
  learn   Asks the exporter that runs on this host which IOCs run now, and prints them as the
          section iocs.expected of a configuration file, for a person to read and edit. IOCs that
          call themselves by another one's name are left out.
            --user     IOCs of this user only
            --names    names only, one a line, as a file of iocs.expected_file has them
          Any user may ask.

  forget  Has the exporter forget IOCs that it remembers and that do not run any more: they leave
          /metrics, and their alert ends. It notes the names in the exporter's folder, from where a
          running exporter takes them within seconds, and one that does not run at its next start.
            --state    the exporter's --state.directory (default: /var/lib/ioc_exporter)
          Takes whoever may write to that folder: root. IOCs in iocs.expected stay: take them out of
          the configuration.

OPTIONS OF learn
@exporter@

EXIT STATUS
  0 done, 1 the exporter or its folder does not give what it should, 2 wrong usage,
  3 of forget: none of that name is remembered, or it runs

EXAMPLES
  ioc_exporter iocs learn --user=epics > expected.yml
  ioc_exporter iocs forget vacuum-test
)help";

CommandResult failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter iocs: " + why + "\n"};
}

CommandResult usage(const std::string& why) {
  return failed(kUsage, why + " (see ioc_exporter iocs --help)");
}

// A text between double quotes, as YAML and JSON have it.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char each : name) {
    if (each == '"' || each == '\\') text += '\\';
    text += each;
  }
  return text + "\"";
}

CommandResult learn(int count, const char* const* arguments) {
  const auto line =
      parse_command(with_exporter_options({{{"user", ""}}, {"names"}}), count, arguments);
  if (!line) return usage(line.error().message());
  if (!line->words.empty()) return usage("unexpected argument \"" + line->words.front() + "\"");
  const auto body = ask_exporter(*line, kIocListPath);
  if (!body) return failed(kFailed, body.error().message());
  auto list = ioc_list_from_json(*body);
  if (!list) return failed(kFailed, not_an_exporter(*line, list.error().message()).message());
  std::ranges::sort(*list, {}, &ListedIoc::name);
  const std::string& user = line->values.at("user");
  const bool names = line->given.contains("names");
  CommandResult result;
  if (!names)
    result.out = "# IOCs that run, " + local_time(now_seconds()) + "\niocs:\n  expected:\n";
  std::size_t told = 0;
  for (const ListedIoc& ioc : *list) {
    if (!user.empty() && ioc.user != user) continue;
    const std::string shown = terminal_cell(ioc.name);
    if (!ioc.contested_with.empty()) {
      result.err += "left out: " + shown + " of user " + terminal_cell(ioc.user) +
                    ", which takes a name of " + terminal_cell(ioc.contested_with) + "\n";
      continue;
    }
    if (!ioc.up) continue;
    ++told;
    result.out += names ? shown + "\n"
                        : "    - " + quoted(shown) + "  # of user " + terminal_cell(ioc.user) +
                              ", runs since " + local_time(ioc.start_time_seconds) + "\n";
  }
  return told > 0 ? result : failed(kFailed, "no IOC runs" + (user.empty() ? "" : " as " + user));
}

CommandResult forget(int count, const char* const* arguments) {
  const auto line = parse_command({{{"state", kDefaultFolder}}, {}}, count, arguments);
  if (!line) return usage(line.error().message());
  if (line->words.empty()) return usage("which IOC?");
  const std::string& folder = line->values.at("state");
  std::string problem;
  const SeenText seen = read_seen(folder, problem);
  if (seen.generation == 0)
    return failed(kFailed,
                  problem.empty() ? folder + ": no exporter keeps names of IOCs there" : problem);
  std::vector<Forgotten> wanted;
  const double now = now_seconds();
  for (const std::string& name : line->words) {
    const auto known = seen.iocs.find(name);
    if (known == seen.iocs.end())
      return failed(kUnknown, "no IOC " + terminal_cell(name) + " is remembered in " + folder);
    if (known->second.gone == 0)
      return failed(kUnknown, "IOC " + terminal_cell(name) + " runs, or ran " +
                                  span_text(now - static_cast<double>(known->second.last_seen)) +
                                  " ago: only what is gone can be forgotten");
    // Also what was seen before the clock was set back.
    wanted.push_back({name, std::max(static_cast<std::int64_t>(now), known->second.last_seen)});
  }
  if (const auto written = write_forgotten(folder, wanted); !written)
    return failed(kFailed, written.error().message());
  return {};
}

}  // namespace

CommandResult iocs_command(int count, const char* const* arguments) {
  const std::string what = count > 0 ? arguments[0] : "";
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (std::any_of(arguments, arguments + count, is_help)) return {0, with_exporter_help(kHelp), ""};
  if (what == "learn") return learn(count - 1, arguments + 1);
  if (what == "forget") return forget(count - 1, arguments + 1);
  return usage(what.empty() ? "what? learn or forget"
                            : "\"" + terminal_cell(what) + "\" is neither learn nor forget");
}

}  // namespace ioc_exporter::iocs
