#include "iocs/iocs_command.h"

#include <algorithm>

#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
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
      one.text("start_time", time_text(ioc.start_time_seconds));
      one.any_text("claimed_from", ioc.claimed_from);
      one.flag("expected", ioc.expected);
    });
  }
  return out + "\n";
}

std::string to_text(const IocList& list) {
  std::vector<TableRow> rows = {{"IOC", "USER", "UP", "START TIME", "EXPECTED", "CLAIMED FROM"}};
  const auto yes = [](bool is) { return is ? "yes" : "no"; };
  for (const ListedIoc& ioc : list)
    rows.push_back({terminal_cell(ioc.name), terminal_cell(ioc.user), yes(ioc.up),
                    ioc.up ? local_time(ioc.start_time_seconds) : "-", yes(ioc.expected),
                    terminal_cell(ioc.claimed_from)});
  return text_table(rows);
}

namespace {

constexpr const char* kHelp =
    R"help(  Asks the exporter that runs on this host, and prints the IOCs that run, and those that ran until
  lately:

    IOC           name on /metrics
    USER          that it runs as
    UP            whether it runs
    START TIME    of its process, in the exporter's local time
    EXPECTED      whether the site's file expects it (iocs.expected)
    CLAIMED FROM  the user whose IOC has the name that it calls itself by

OPTIONS
  --json      the same as JSON
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage, 3 there are none
)help";

constexpr const char* kLearnHelp =
    R"help(  Asks the exporter that runs on this host which IOCs run now, and prints them as the section
  iocs.expected of a configuration file, for a person to read and edit. IOCs that call themselves by
  another one's name are left out, and named in a comment. Any user may ask.

OPTIONS
  --user=USER IOCs of this user only
  --names     names only, one a line, as a file of iocs.expected_file has them
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage, 3 none runs

EXAMPLE
  ioc_exporter iocs learn --user=epics > expected.yml
)help";

}  // namespace

Result<std::string> expected_text(IocList list, const std::string& user, bool names, double now) {
  std::ranges::sort(list, {}, &ListedIoc::name);
  std::string text = names ? "" : "# IOCs that run, " + local_time(now) + "\niocs:\n  expected:\n";
  bool any = false;
  for (const ListedIoc& ioc : list) {
    if (!user.empty() && ioc.user != user) continue;
    const std::string shown = terminal_cell(ioc.name);
    if (!ioc.claimed_from.empty()) {
      text += "# left out: " + shown + " of user " + terminal_cell(ioc.user) +
              ", which takes a name of " + terminal_cell(ioc.claimed_from) + "\n";
      continue;
    }
    if (!ioc.up) continue;
    any = true;
    if (names) {
      text += shown + "\n";
      continue;
    }
    exposition::append_json_text(text += "    - ", shown);
    text += "  # of user " + terminal_cell(ioc.user) + ", runs since " +
            local_time(ioc.start_time_seconds) + "\n";
  }
  if (any) return text;
  return error_in_words("no IOC runs" + (user.empty() ? "" : " as " + terminal_cell(user)));
}

Command iocs_command() {
  return {"iocs",
          "",
          "the IOCs of this host",
          kHelp,
          {{}, {"json"}},
          [](const CommandLine& line, std::FILE*) {
            return print_answer(line, std::string(kIocListPath) + "?format=" +
                                          (line.given.contains("json") ? "json" : "text"));
          }};
}

Command iocs_learn_command() {
  return {"iocs learn",
          "",
          "proposes which IOCs the site expects",
          kLearnHelp,
          {{{"user", ""}}, {"names"}},
          [](const CommandLine& line, std::FILE*) {
            return print_answer(line, std::string(kIocListPath) + "?format=" +
                                          (line.given.contains("names") ? "names" : "expected") +
                                          "&user=" + percent_encoded(line.values.at("user")));
          }};
}

}  // namespace ioc_exporter::iocs
