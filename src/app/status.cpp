#include "app/status.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "base/command_line.h"
#include "base/rates.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::app {
namespace {

using exposition::JsonObject;
using exposition::StatusIoc;
using exposition::StatusPage;
using exposition::StatusProbe;

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "" : std::to_string(part * 100 / whole) + " %";
}

void add_probes(const std::vector<ProbeState>& states, StatusPage& page) {
  for (const ProbeSample& sample : page.self.probes) {
    StatusProbe row;
    row.name = sample.probe;
    row.ok = sample.loaded;
    row.state = sample.loaded ? exposition::plural(sample.attachments, "attachment") : "not loaded";
    const auto state = std::ranges::find(states, sample.probe, &ProbeState::name);
    if (state != states.end()) row.problem = state->problem;
    page.probes.push_back(std::move(row));
  }
}

void add_notes(StatusPage& page) {
  if (page.self.detached)
    page.notes.insert(page.notes.begin(),
                      "All probes are detached, by SIGUSR1 or POST /-/detach: nothing is counted. "
                      "SIGUSR2 attaches them again.");
  for (const auto& [reason, count] : page.self.drops)
    if (count > 0)
      page.notes.push_back(reason.first + ": " + std::to_string(count) + " × " + reason.second +
                           " (see ioc_exporter_dropped_total)");
}

void add_facts(StatusPage& page) {
  std::uint64_t problems = 0, lost = 0;
  for (const StatusIoc& ioc : page.iocs) problems += ioc.problem.empty() ? 0u : 1u;
  for (const ProbeSample& probe : page.self.probes) problems += probe.loaded ? 0u : 1u;
  for (const auto& [reason, count] : page.self.drops) lost += count;
  problems += lost > 0 ? 1u : 0u;
  problems += static_cast<std::uint64_t>(
      std::ranges::count(page.facts, true, &exposition::StatusFact::bad));
  page.facts.push_back(
      {std::to_string(problems), problems == 1 ? "problem" : "problems", problems > 0});
  if (lost > 0) page.facts.push_back({std::to_string(lost), "not counted in full", true});
  if (page.self.detached) page.facts.push_back({"detached", "nothing is counted", true});
}

}  // namespace

exposition::StatusTable limits_table(const std::vector<MapSample>& all) {
  exposition::StatusTable table;
  table.title = "Limits";
  table.note =
      "Use of the kernel's tables. Events without room are counted on /metrics: "
      "ioc_exporter_dropped_total.";
  table.columns = {{"table", false}, {"entries", true}, {"room", true}, {"full", true}};
  std::vector<const MapSample*> maps;
  for (const MapSample& map : all)
    if (map.capacity > 0) maps.push_back(&map);
  std::ranges::stable_sort(maps, std::greater<>(), [](const MapSample* map) {
    return static_cast<double>(map->entries) / static_cast<double>(map->capacity);
  });
  for (const MapSample* map : maps)
    table.rows.push_back({map->map, std::to_string(map->entries), std::to_string(map->capacity),
                          share_text(map->entries, map->capacity)});
  return table;
}

exposition::StatusPage page_with_rates(const std::function<exposition::StatusPage()>& read,
                                       const std::function<void(std::chrono::milliseconds)>& wait) {
  exposition::StatusPage page = read();
  if (!page.rates_due) return page;
  wait(Rates::kShortest);
  return read();
}

void finish_status(const std::vector<ProbeState>& probes, StatusPage& page) {
  add_probes(probes, page);
  std::vector<MapSample> maps = page.self.maps;
  if (const auto& memory = page.self.kernel_memory)
    maps.push_back({"kernel memory of records, KiB", memory->bytes / 1024, memory->limit / 1024});
  page.kernel_tables = {exposition::probes_table(page.probes), limits_table(maps)};
  add_notes(page);
  add_facts(page);
}

std::string status_text(const StatusPage& page) {
  std::string text = page.name + " " + page.version + " on " + exposition::origin_text(page.origin);
  for (const exposition::StatusFact& fact : page.facts) text += ", " + fact.value + " " + fact.what;
  text += "\n";
  for (const exposition::StatusTable& table : exposition::all_tables(page))
    if (!table.rows.empty()) text += "\n" + table.title + "\n" + exposition::table_text(table);
  const std::vector<std::string> notes = exposition::all_notes(page);
  if (!notes.empty()) text += "\nNotes\n";
  for (const std::string& note : notes) text += terminal_cell(note) + "\n";
  return text;
}

namespace {

void append_table(std::string& out, const exposition::StatusTable& table) {
  JsonObject object(out);
  object.any_text("title", table.title);
  exposition::append_json_list(object.key("rows"), table.rows, [&](const auto& cells) {
    JsonObject row(out);
    for (std::size_t i = 0; i < cells.size() && i < table.columns.size(); ++i)
      row.text(table.columns[i].title, cells[i]);
  });
}

}  // namespace

std::string status_json(const StatusPage& page) {
  std::vector<exposition::StatusTable> tables = exposition::all_tables(page);
  std::ranges::copy(page.kernel_tables, std::back_inserter(tables));
  std::string out;
  {
    JsonObject object(out);
    object.any_text("version", page.version);
    object.any_text("host", page.origin.host);
    object.text("start_time", time_text(page.origin.start_time_seconds));
    exposition::append_json_list(object.key("facts"), page.facts,
                                 [&out](const exposition::StatusFact& fact) {
                                   JsonObject one(out);
                                   one.any_text("what", fact.what);
                                   one.any_text("value", fact.value);
                                   one.flag("bad", fact.bad);
                                 });
    exposition::append_json_list(object.key("tables"), tables,
                                 [&out](const auto& table) { append_table(out, table); });
    exposition::append_json_list(
        object.key("notes"), exposition::all_notes(page),
        [&out](const std::string& note) { exposition::append_json_text(out, note); });
  }
  return out + "\n";
}

CheckResult check(const StatusPage& page, const std::string& failed, const std::string& discovery) {
  CheckResult result{.text = {}, .complete = failed.empty() && discovery.empty()};
  for (const StatusIoc& ioc : page.iocs)
    result.complete = result.complete && (!ioc.up || ioc.problem.empty());
  const std::string iocs = exposition::table_text(exposition::iocs_table(page));
  result.text = exposition::table_text(exposition::probes_table(page.probes)) + "\n" +
                (iocs.empty() ? "No IOC was found on this host.\n" : iocs);
  for (const std::string& note : exposition::all_notes(page))
    result.text += "\n" + terminal_cell(note) + "\n";
  if (!discovery.empty()) result.text += "\nfind IOCs: " + terminal_cell(discovery) + "\n";
  return result;
}

}  // namespace ioc_exporter::app
