// WhoWrote as text.
#include <algorithm>
#include <vector>

#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "puts/totals/put_families.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::puts {
namespace {

TableRow put_row(const PutSample& put, double now) {
  const bool timed = put.last_time_seconds > 0;
  return {timed ? local_time(put.last_time_seconds) : "-",
          timed ? span_text(now - put.last_time_seconds) : "-",
          terminal_cell(put.ioc),
          terminal_cell(put.pv),
          terminal_cell(put.client),
          terminal_cell(put.user),
          terminal_cell(put.host),
          std::string(op_name(put.op, put.by_pva)),
          std::to_string(put.count)};
}

// Writes that no line of the table tells: "Written by ioc one itself: 5 (link), 2 (shell)".
std::string other_writes(const WhoWrote& answer) {
  std::string text;
  for (const AskedRecord& record : answer.records) {
    std::string itself, unnamed;
    for (const auto& [source, count] :
         record.writes.value_or(decltype(record.writes)::value_type())) {
      const bool by_pva = source == "pva", by_client = by_pva || source == "ca";
      const bool is_told = by_client && std::ranges::any_of(answer.puts, [&](const PutSample& put) {
                             return put.ioc == record.ioc && put.by_pva == by_pva;
                           });
      if (count == 0 || is_told) continue;
      std::string& to = by_client ? unnamed : itself;
      to += (to.empty() ? "" : ", ") + std::to_string(count) + " (" + terminal_cell(source) + ")";
    }
    const std::string ioc = terminal_cell(record.ioc);
    if (!itself.empty()) text += "Written by ioc " + ioc + " itself: " + itself + "\n";
    if (!unnamed.empty())
      text += "Written to ioc " + ioc + " by a name that is not known: " + unnamed + "\n";
  }
  return text;
}

std::string nobody(const WhoWrote& answer, double now, bool written) {
  const bool all_known =
      !answer.records.empty() &&
      std::ranges::all_of(answer.records, [](const auto& one) { return one.writes.has_value(); });
  const std::string pv = terminal_cell(answer.pv);
  std::string text =
      all_known && !written ? "Nobody wrote to " + pv : "No put to " + pv + " was seen";
  if (!written && !answer.problem.empty())
    text = "It is not known whether anybody wrote to " + pv + ".\nNo put was seen";
  if (answer.counting_since_seconds > 0)
    text += " since counting began, " + local_time(answer.counting_since_seconds) + " (" +
            span_text(now - answer.counting_since_seconds) + " ago)";
  if (answer.records.empty()) return text + "; no IOC of this host is known to have that record.\n";
  text += answer.records.size() == 1 ? "; it is a record of ioc " : "; it is a record of the iocs ";
  for (std::size_t i = 0; i < answer.records.size(); ++i)
    text += (i == 0 ? "" : ", ") + terminal_cell(answer.records[i].ioc);
  return text + (all_known ? "" : ", whose own writes are not all counted") + ".\n";
}

}  // namespace

std::string to_text(const WhoWrote& answer, std::size_t limit, double now) {
  const std::string others = other_writes(answer);
  std::string text;
  if (answer.puts.empty()) {
    text = nobody(answer, now, !others.empty());
  } else {
    std::vector<TableRow> rows = {
        {"TIME", "AGO", "IOC", "PV", "CLIENT", "USER", "HOST", "OPERATION", "PUTS"}};
    const std::size_t shown = limit == 0 ? answer.puts.size() : std::min(limit, answer.puts.size());
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(put_row(answer.puts[i], now));
    text = text_table(rows);
    if (shown < answer.puts.size())
      text += "... and " + std::to_string(answer.puts.size() - shown) +
              " more that wrote before (--limit=0 shows all)\n";
  }
  if (answer.counting_since_seconds > 0)
    text.append(kPutsBefore).append(local_time(answer.counting_since_seconds)) +=
        answer.put_log_file.empty()
            ? " are not known\n"
            : std::string(kAreInFiles) + terminal_cell(answer.put_log_file) + "\n";
  text += others;
  if (answer.unnamed_puts > 0)
    text += "Not in this list: " + std::to_string(answer.unnamed_puts) +
            " puts on channels whose PV name the exporter does not know\n";
  return answer.problem.empty() ? text : text + terminal_cell(answer.problem) + "\n";
}

}  // namespace ioc_exporter::puts
