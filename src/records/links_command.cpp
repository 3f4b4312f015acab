#include "records/links_command.h"

#include <algorithm>

#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::records {
namespace {

using exposition::JsonObject;
using DownLinks = std::vector<const DownLink*>;

constexpr const char* kHelp =
    R"help(  Asks the ioc_exporter that runs on the IOC's host, and prints the Channel Access links of the
  IOC's records that are down, those down for longest first, at most 1000:

    LINK            record and field
    PV              that the link leads to
    DOWN SINCE      when the exporter first saw that, in its local time; it may have been down before
    EVER CONNECTED  whether it has been connected since the link was made

OPTIONS
  --json      the exporter's answer as it is: also how many links are connected, how often links
              were disconnected, and writes that a later one replaced before they were sent
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage, 3 no such IOC runs, or its links are not known

EXAMPLE
  ioc_exporter links SR:VAC
)help";

std::string json_of(const IocSample& ioc, const CaLinksSample& links, const DownLinks& down) {
  std::string out;
  {
    JsonObject object(out);
    object.any_text("ioc", ioc.name);
    object.number("connected", links.connected);
    object.number("disconnected", links.disconnected);
    object.number("disconnects", links.disconnects);
    object.number("lost_writes", links.lost_writes);
    exposition::append_json_list(object.key("down"), down, [&](const DownLink* link) {
      JsonObject one(out);
      one.any_text("record", ioc.database->records[link->record].name);
      one.any_text("field", link->field);
      one.any_text("pv", link->pv);
      one.text("down_since", time_text(link->since_seconds));
      one.flag("ever_connected", link->ever_connected);
    });
  }
  return out + "\n";
}

std::string text_of(const IocSample& ioc, const CaLinksSample& links, const DownLinks& down) {
  std::vector<TableRow> rows = {{"LINK", "PV", "DOWN SINCE", "EVER CONNECTED"}};
  for (const DownLink* link : down)
    rows.push_back(
        {terminal_cell(ioc.database->records[link->record].name + "." + std::string(link->field)),
         terminal_cell(link->pv), local_time(link->since_seconds),
         link->ever_connected ? "yes" : "no"});
  return (down.empty() ? "" : text_table(rows)) + terminal_cell(ioc.name) + ": " +
         std::to_string(links.disconnected) + " of " +
         std::to_string(links.connected + links.disconnected) + " Channel Access links are down\n";
}

}  // namespace

Result<std::string> links_of(const std::vector<IocSample>& iocs, std::string_view ioc,
                             bool as_text) {
  const auto found =
      std::ranges::find_if(iocs, [ioc](const IocSample& one) { return one.up && one.name == ioc; });
  if (found == iocs.end()) return error_in_words("no IOC " + std::string(ioc) + " runs");
  if (!found->memory || !found->memory->ca_links || !found->database) {
    std::string why = "Channel Access links not known: its records were not looked at yet";
    for (const std::string& note : found->notes)
      if (note.starts_with("Channel Access links")) why = note;
    return error_in_words("IOC " + found->name + ": " + why);
  }
  const CaLinksSample& links = *found->memory->ca_links;
  std::vector<const DownLink*> down;
  for (const DownLink& link : links.down)
    if (link.record < found->database->records.size()) down.push_back(&link);
  return as_text ? text_of(*found, links, down) : json_of(*found, links, down);
}

Command links_command() {
  return {"links",
          "IOC",
          "Channel Access links of an IOC that are down",
          kHelp,
          {{}, {"json"}},
          [](const CommandLine& line, std::FILE*) {
            return print_answer(line, std::string(kLinksPath) +
                                          "?ioc=" + percent_encoded(line.word) +
                                          (line.given.contains("json") ? "" : "&format=text"));
          }};
}

}  // namespace ioc_exporter::records
