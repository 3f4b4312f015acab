#include "iocs/iocs_command.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/time_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::iocs {

using exposition::JsonObject;

std::string to_json(const IocList& list) {
  std::string out;
  {
    JsonObject object(out);
    exposition::append_json_list(object.key("iocs"), list, [&out](const ListedIoc& ioc) {
      JsonObject one(out);
      one.any_text("ioc", ioc.name);
      one.any_text("user", ioc.user);
      one.flag("up", ioc.up);
      one.number("start_time_seconds", ioc.start_time_seconds);
      one.any_text("contested_with", ioc.contested_with);
      one.flag("expected", ioc.expected);
    });
  }
  return out + "\n";
}

Result<IocList> ioc_list_from_json(std::string_view text) {
  return read_json(text, [](const Json& json) {
    IocList list;
    for (const Json& ioc : json.at("iocs").items())
      list.push_back({ioc.at("ioc").text(), ioc.at("user").text(), ioc.at("up").flag(),
                      ioc.at("start_time_seconds").number(), ioc.at("contested_with").text(),
                      ioc.at("expected").flag()});
    return list;
  });
}

namespace {

constexpr int kFailed = 1, kUsage = 2;

constexpr const char* kHelp = R"help(NAME
  ioc_exporter iocs - which IOCs are expected on this host

SYNOPSIS
  ioc_exporter iocs learn [--url=URL] [--user=USER] [--names]

DESCRIPTION
  learn   Asks the exporter that runs on this host which IOCs run now, and prints them as the
          section iocs.expected of a configuration file, for a person to read and edit. IOCs that
          call themselves by another one's name are left out.
            --user     IOCs of this user only
            --names    names only, one a line, as a file of iocs.expected_file has them
          Any user may ask.

OPTIONS OF learn
@exporter@

EXIT STATUS
  0 done, 1 the exporter does not give what it should, 2 wrong usage

EXAMPLE
  ioc_exporter iocs learn --user=epics > expected.yml
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

}  // namespace

CommandResult iocs_command(int count, const char* const* arguments) {
  const std::string what = count > 0 ? arguments[0] : "";
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (std::any_of(arguments, arguments + count, is_help)) return {0, with_exporter_help(kHelp), ""};
  if (what == "learn") return learn(count - 1, arguments + 1);
  return usage(what.empty() ? "what? learn" : "\"" + terminal_cell(what) + "\" is not learn");
}

}  // namespace ioc_exporter::iocs
