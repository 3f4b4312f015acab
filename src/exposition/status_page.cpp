#include "exposition/status_page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <iterator>

#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::exposition {

StatusIoc* StatusPage::find_ioc(const std::string& ioc) {
  const auto found = std::ranges::find(iocs, ioc, &StatusIoc::name);
  return found == iocs.end() ? nullptr : &*found;
}

StatusTable probes_table(const std::vector<StatusProbe>& probes) {
  StatusTable table{.title = "Probes",
                    .note = "",
                    .columns = {{"probe"}, {"state"}, {"problem", false, true}},
                    .rows = {},
                    .more = ""};
  for (const StatusProbe& probe : probes)
    table.rows.push_back({probe.name, probe.state, probe.problem});
  return table;
}

StatusTable iocs_table(const StatusPage& page) {
  StatusTable table{
      .title = "IOCs", .note = "", .columns = {{"IOC"}, {"state"}}, .rows = {}, .more = ""};
  std::ranges::copy(page.ioc_columns, std::back_inserter(table.columns));
  table.columns.push_back({"problem", false, true});
  for (const StatusIoc& ioc : page.iocs) {
    auto& row = table.rows.emplace_back();
    row = {ioc.name, !ioc.state.empty() ? ioc.state : ioc.up ? "up" : "gone"};
    for (const StatusTable::Column& column : page.ioc_columns) {
      const auto cell = ioc.cells.find(column.title);
      row.push_back(cell == ioc.cells.end() ? "" : cell->second);
    }
    row.push_back(ioc.problem);
  }
  return table;
}

std::vector<StatusTable> all_tables(const StatusPage& page) {
  std::vector<StatusTable> tables = {iocs_table(page)};
  tables.insert(tables.end(), page.tables.begin(), page.tables.end());
  std::vector<StatusProbe> missing;
  std::ranges::copy_if(page.probes, std::back_inserter(missing), std::logical_not<>(),
                       &StatusProbe::ok);
  tables.push_back(probes_table(missing));
  return tables;
}

std::vector<std::string> all_notes(const StatusPage& page) {
  std::vector<std::string> notes = page.notes;
  for (const StatusIoc& ioc : page.iocs)
    for (const std::string& note : ioc.notes) notes.push_back("ioc " + ioc.name + ": " + note);
  return notes;
}

std::string origin_text(const Origin& origin) {
  const std::string start = local_time(origin.start_time_seconds).substr(0, 16);
  return origin.host + (origin.start_time_seconds > 0 ? ", since " + start : "");
}

std::string table_text(const StatusTable& table) {
  if (table.rows.empty()) return {};
  std::vector<TableRow> rows(1);
  for (const StatusTable::Column& column : table.columns) {
    std::string& head = rows[0].emplace_back(column.title);
    for (char& c : head)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  for (const auto& cells : table.rows)
    std::ranges::transform(cells, std::back_inserter(rows.emplace_back()), terminal_cell);
  return text_table(rows) + (table.more.empty() ? "" : table.more + "\n");
}

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string rate_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f",
                rate >= 100 || rate == 0 ? 0
                : rate >= 10             ? 1
                                         : 2,
                rate);
  return text.data();
}

std::string ago_text(double time, double now) {
  return time > 0 ? span_text(now - time) + " ago" : "";
}

}  // namespace ioc_exporter::exposition
