#include "records/links_command.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::records {
namespace {

using exposition::JsonObject;

constexpr int kFailed = 1, kUsage = 2;

constexpr const char* kHelp = R"help(NAME
  ioc_exporter links - Channel Access links of an IOC that are not connected

SYNOPSIS
  ioc_exporter links [--json] [--url=URL] IOC

DESCRIPTION
  Asks the ioc_exporter that runs on the IOC's host, and prints the links of the IOC's records to
  PVs of Channel Access that are down, those first that are down for longest, at most 1000:

    LINK            record and field
    PV              that the link leads to
    DOWN SINCE      when the exporter first saw that; it may have been down before
    EVER CONNECTED  whether it was connected since the link was made

OPTIONS
  --json      the exporter's answer as it is: also how many links are connected, how often links
              were disconnected, and writes that a later one replaced before they were sent
@exporter@
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered or it does not know the IOC's links, 2 wrong usage

EXAMPLE
  ioc_exporter links SR:VAC
)help";

CommandResult failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter links: " + why + "\n"};
}

std::string text_of(const Json& answer) {
  std::vector<TableRow> rows = {{"LINK", "PV", "DOWN SINCE", "EVER CONNECTED"}};
  for (const Json& link : answer.at("down").items())
    rows.push_back({terminal_cell(link.at("record").text() + "." + link.at("field").text()),
                    terminal_cell(link.at("pv").text()),
                    local_time(link.at("down_since_seconds").number()),
                    link.at("ever_connected").flag() ? "yes" : "no"});
  const auto connected = answer.at("connected").count();
  const auto down = answer.at("disconnected").count();
  const std::string sum = terminal_cell(answer.at("ioc").text()) + ": " + std::to_string(down) +
                          " of " + std::to_string(connected + down) +
                          " Channel Access links are down\n";
  return rows.size() == 1 ? sum : text_table(rows) + sum;
}

}  // namespace

Result<std::string> links_json(const std::vector<IocSample>& iocs, std::string_view ioc) {
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
  std::string out;
  {
    JsonObject object(out);
    object.any_text("ioc", found->name);
    object.number("connected", links.connected);
    object.number("disconnected", links.disconnected);
    object.number("disconnects", links.disconnects);
    object.number("lost_writes", links.lost_writes);
    exposition::append_json_list(object.key("down"), down, [&](const DownLink* link) {
      JsonObject one(out);
      one.any_text("record", found->database->records[link->record].name);
      one.any_text("field", link->field);
      one.any_text("pv", link->pv);
      one.number("down_since_seconds", link->since_seconds);
      one.flag("ever_connected", link->ever_connected);
    });
  }
  return out + "\n";
}

CommandResult links_command(int count, const char* const* arguments) {
  const auto line = parse_command(with_exporter_options({{}, {"json"}}), count, arguments);
  const auto usage = [](const std::string& why) {
    return failed(kUsage, why + " (see ioc_exporter links --help)");
  };
  if (!line) return usage(line.error().message());
  if (line->given.contains("help")) return {0, with_exporter_help(kHelp), ""};
  if (line->words.empty()) return usage("no IOC was given");
  if (line->words.size() > 1)
    return usage("one IOC at a time: " + line->words[0] + " and " + line->words[1]);
  const auto body =
      ask_exporter(*line, std::string(kLinksPath) + "?ioc=" + percent_encoded(line->words.front()));
  if (!body) return failed(kFailed, body.error().message());
  const auto text = read_json(*body, text_of);
  if (!text) return failed(kFailed, not_an_exporter(*line, text.error().message()).message());
  return {0, line->given.contains("json") ? *body : *text, ""};
}

}  // namespace ioc_exporter::records
