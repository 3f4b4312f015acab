#include "iocs/iocs_command.h"

#include <algorithm>

#include "base/query.h"
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

namespace {

constexpr const char* kHelp = R"help(NAME
  ioc_exporter iocs - which IOCs are expected on this host

SYNOPSIS
  ioc_exporter iocs learn [--url=URL] [--user=USER] [--names]

DESCRIPTION
  learn   Asks the exporter that runs on this host which IOCs run now, and prints them as the
          section iocs.expected of a configuration file, for a person to read and edit. IOCs that
          call themselves by another one's name are left out, and named in a comment.
            --user     IOCs of this user only
            --names    names only, one a line, as a file of iocs.expected_file has them
          Any user may ask.

OPTIONS OF learn
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage

EXAMPLE
  ioc_exporter iocs learn --user=epics > expected.yml
)help";

// A text between double quotes, as YAML and JSON have it.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char each : name) {
    if (each == '"' || each == '\\') text += '\\';
    text += each;
  }
  return text + "\"";
}

Result<std::string> target_of(const CommandLine& line) {
  if (line.words.front() != "learn")
    return error_in_words("\"" + terminal_cell(line.words.front()) + "\" is not learn");
  return std::string(kIocListPath) +
         "?format=" + (line.given.contains("names") ? "names" : "expected") +
         "&user=" + percent_encoded(line.values.at("user"));
}

}  // namespace

Result<std::string> expected_text(IocList list, const std::string& user, bool names, double now) {
  std::ranges::sort(list, {}, &ListedIoc::name);
  std::string text = names ? "" : "# IOCs that run, " + local_time(now) + "\niocs:\n  expected:\n";
  bool any = false;
  for (const ListedIoc& ioc : list) {
    if (!user.empty() && ioc.user != user) continue;
    const std::string shown = terminal_cell(ioc.name);
    if (!ioc.contested_with.empty()) {
      text += "# left out: " + shown + " of user " + terminal_cell(ioc.user) +
              ", which takes a name of " + terminal_cell(ioc.contested_with) + "\n";
      continue;
    }
    if (!ioc.up) continue;
    any = true;
    text += names ? shown + "\n"
                  : "    - " + quoted(shown) + "  # of user " + terminal_cell(ioc.user) +
                        ", runs since " + local_time(ioc.start_time_seconds) + "\n";
  }
  if (any) return text;
  return error_in_words("no IOC runs" + (user.empty() ? "" : " as " + terminal_cell(user)));
}

CommandResult iocs_command(int count, const char* const* arguments) {
  return run_page_command({"iocs", kHelp, "word learn", {{{"user", ""}}, {"names"}}, target_of},
                          count, arguments);
}

}  // namespace ioc_exporter::iocs
