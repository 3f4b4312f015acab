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
                    .rest = ""};
  for (const StatusProbe& probe : probes)
    table.rows.push_back({probe.name, probe.state, probe.problem});
  return table;
}

namespace {

// Three figures are as many as one reads: "0.25", "17.3", "4210".
std::string figures(const std::optional<double>& number, const char* unit = "") {
  if (!number) return "";
  std::array<char, 32> text{};
  const int digits = *unit != '\0' ? 2 : *number >= 100 || *number == 0 ? 0 : *number >= 10 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f%s", digits, *number, unit);
  return text.data();
}

template <class Number>
std::string whole(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "";
}

}  // namespace

StatusTable iocs_table(const std::vector<StatusIoc>& iocs) {
  StatusTable table{.title = "IOCs",
                    .note = "",
                    .columns = {{"IOC"},
                                {"state"},
                                {"pid", true},
                                {"EPICS Base"},
                                {"CA port", true},
                                {"records", true},
                                {"circuits", true},
                                {"channels", true},
                                {"processed/s", true},
                                {"puts/s", true},
                                {"probes' cost", true},
                                {"problem", false, true}},
                    .rows = {},
                    .rest = ""};
  for (const StatusIoc& ioc : iocs)
    table.rows.push_back({ioc.name,
                          !ioc.state.empty() ? ioc.state
                          : ioc.up           ? "up"
                                             : "gone",
                          ioc.up ? std::to_string(ioc.pid) : "", ioc.base_version,
                          whole(ioc.ca_port), whole(ioc.records), whole(ioc.circuits),
                          whole(ioc.channels), figures(ioc.processed_rate), figures(ioc.put_rate),
                          figures(ioc.cost ? std::optional(*ioc.cost * 100) : std::nullopt, " %"),
                          ioc.problem});
  return table;
}

std::vector<StatusTable> all_tables(const StatusPage& page) {
  std::vector<StatusTable> tables = {iocs_table(page.iocs)};
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
  return text_table(rows) + (table.rest.empty() ? "" : table.rest + "\n");
}

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string rate_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", rate >= 100 || rate == 0 ? 0 : 1, rate);
  return text.data();
}

std::string ago_text(double time, double now) {
  return time > 0 ? span_text(now - time) + " ago" : "";
}

}  // namespace ioc_exporter::exposition
