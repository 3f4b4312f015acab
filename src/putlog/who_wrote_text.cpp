// The answer of puts::kWhoWrotePath as text.
#include <algorithm>
#include <vector>

#include "base/time_text.h"
#include "base/value_text.h"
#include "putlog/puts_table.h"
#include "putlog/who_wrote_command.h"

namespace ioc_exporter::putlog {
namespace {

std::string local_or_none(double seconds) {
  return seconds > 0 ? local_time(seconds) : "-";
}

TableRow put_row(const Json& put, double now) {
  const double time = seconds_of(put.text_at("time"));
  TableRow row = {local_or_none(time), time > 0 ? span_text(now - time) : "-"};
  for (const char* key : {"ioc", "pv", "client", "user", "client_host", "op"})
    row.push_back(terminal_cell(put.text_at(key)));
  row.push_back(std::to_string(put.at("puts").count()));
  return row;
}

// Writes that no line of the table reports: "Written by ioc one itself: 5 (link), 2 (shell)".
std::string other_writes(const Json& answer) {
  std::string text;
  for (const Json& record : answer.at("records").items()) {
    std::string itself, unnamed;
    const Json* const writes = record.find("writes");
    if (writes == nullptr || writes->get_if<Json::Object>() == nullptr) continue;
    for (const auto& [source, count] : *writes->get_if<Json::Object>()) {
      const bool by_pva = source == "pva", by_client = by_pva || source == "ca";
      const bool is_shown =
          by_client && std::ranges::any_of(answer.at("puts").items(), [&](const Json& put) {
            const std::string op = put.text_at("op");
            return put.text_at("ioc") == record.text_at("ioc") &&
                   (op == "put" || op == "rpc") == by_pva;
          });
      if (count.count() == 0 || is_shown) continue;
      std::string& to = by_client ? unnamed : itself;
      to += (to.empty() ? "" : ", ") + std::to_string(count.count()) + " (" +
            terminal_cell(source) + ")";
    }
    const std::string ioc = terminal_cell(record.text_at("ioc"));
    if (!itself.empty()) text += "Written by ioc " + ioc + " itself: " + itself + "\n";
    if (!unnamed.empty())
      text += "Written to ioc " + ioc + " by a name that is not known: " + unnamed + "\n";
  }
  return text;
}

// Whether the IOCs' own counts have all writes to the record.
bool is_counted(const Json& answer) {
  const Json::Array& records = answer.at("records").items();
  return !records.empty() && std::ranges::all_of(records, [](const Json& one) {
    return one.find("writes") != nullptr;
  });
}

std::string nobody(const Json& answer, double now, bool written, bool is_known) {
  const Json::Array& records = answer.at("records").items();
  const double since = seconds_of(answer.text_at("counting_since"));
  const bool all_known = is_counted(answer);
  const std::string pv = terminal_cell(answer.text_at("pv"));
  std::string text =
      all_known && !written ? "Nobody wrote to " + pv : "No put to " + pv + " was seen";
  if (!is_known) text = "It is not known whether anybody wrote to " + pv + ".\nNo put was seen";
  if (since > 0)
    text += " since counting began, " + local_time(since) + " (" + span_text(now - since) + " ago)";
  if (records.empty()) return text + "; no IOC of this host is known to have that record.\n";
  text += records.size() == 1 ? "; it is a record of ioc " : "; it is a record of the iocs ";
  for (std::size_t i = 0; i < records.size(); ++i)
    text += (i == 0 ? "" : ", ") + terminal_cell(records[i].text_at("ioc"));
  return text + (all_known ? "" : ", whose own writes are not all counted") + ".\n";
}

}  // namespace

WriterText to_text(const Json& answer, std::size_t limit, double now, const std::string& before) {
  const std::string others = other_writes(answer), problem = answer.text_at("problem");
  const Json::Array& puts = answer.at("puts").items();
  const std::uint64_t unnamed = answer.at("unnamed_puts").count();
  const bool found = !puts.empty() || !others.empty();
  const bool is_known = found || is_counted(answer) || (problem.empty() && unnamed == 0);
  std::string text;
  if (puts.empty()) {
    text = nobody(answer, now, found, is_known);
  } else {
    std::vector<TableRow> rows = {
        {"TIME", "AGO", "IOC", "PV", "CLIENT", "USER", "CLIENT_HOST", "OP", "PUTS"}};
    const std::size_t shown = limit == 0 ? puts.size() : std::min(limit, puts.size());
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(put_row(puts[i], now));
    text = text_table(rows);
    if (shown < puts.size())
      text += "... and " + std::to_string(puts.size() - shown) +
              " more that wrote before (--limit=0 shows all)\n";
  }
  text += before + others;
  if (unnamed > 0)
    text += "Not in this list: " + std::to_string(unnamed) +
            " puts on channels whose PV name the exporter does not know\n";
  return {problem.empty() ? text : text + terminal_cell(problem) + "\n", found      ? kDone
                                                                         : is_known ? kNotFound
                                                                                    : kFailed};
}

}  // namespace ioc_exporter::putlog
