#include "app/landing_tables.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "base/time_text.h"

namespace ioc_exporter::app {
namespace {

using web::LandingTable;

std::string ago(double time, double now) {
  return time > 0 ? span_text(now - time) + " ago" : "";
}

LandingTable clients_table(const Snapshot& snapshot) {
  LandingTable table;
  table.title = "Clients";
  table.note = "Who is connected over Channel Access, and with how much.";
  table.columns = {{"IOC", false},     {"client", false},  {"user", false},   {"host", false},
                   {"circuits", true}, {"channels", true}, {"monitors", true}};
  std::vector<const CaClientSample*> clients;
  for (const CaClientSample& client : snapshot.ca_clients) clients.push_back(&client);
  std::ranges::sort(clients, {}, [](const CaClientSample* c) {
    return std::tie(c->ioc, c->client, c->user, c->host);
  });
  for (const CaClientSample* c : clients) {
    if (table.rows.size() == kClientsShown) break;
    table.rows.push_back({c->ioc, c->client, c->user, c->host, std::to_string(c->circuits),
                          std::to_string(c->channels), std::to_string(c->monitors)});
  }
  if (clients.size() > table.rows.size())
    table.rest = "And " + std::to_string(clients.size() - table.rows.size()) +
                 " more: epics_ca_client_circuits on the page of the metrics has all.";
  return table;
}

LandingTable puts_table(const Snapshot& snapshot, double now) {
  LandingTable table;
  table.title = "Latest puts";
  table.note = "The last put of those who wrote last. Of one PV: ioc_exporter who-wrote PV.";
  table.columns = {{"when", false}, {"IOC", false},  {"PV", false},       {"client", false},
                   {"user", false}, {"host", false}, {"operation", false}};
  std::vector<const PutSample*> puts;
  for (const PutSample& put : snapshot.puts)
    if (put.last_time_seconds > 0) puts.push_back(&put);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(puts.size(), kPutsShown));
  std::ranges::partial_sort(puts, puts.begin() + shown, std::greater<>(),
                            [](const PutSample* put) { return put->last_time_seconds; });
  for (auto put = puts.begin(); put != puts.begin() + shown; ++put)
    table.rows.push_back({ago((*put)->last_time_seconds, now), (*put)->ioc, (*put)->pv,
                          (*put)->client, (*put)->user, (*put)->host,
                          (*put)->op == PutOp::write ? "write" : "write_notify"});
  return table;
}

LandingTable searches_table(const Snapshot& snapshot, double now) {
  LandingTable table;
  table.title = "Searched in vain";
  table.note =
      "Names that clients search by UDP again and again, and that no server of this host has: "
      "a wrong name, or an IOC that is down.";
  table.columns = {
      {"name", false}, {"client", false}, {"requests", true}, {"since", false}, {"last", false}};
  std::vector<const SearchedName*> names;
  for (const SearchedName& name : snapshot.searched_names) names.push_back(&name);
  std::ranges::sort(names, std::greater<>(), &SearchedName::requests);
  for (const SearchedName* name : names)
    table.rows.push_back({name->name, name->client, std::to_string(name->requests),
                          ago(name->first_time_seconds, now), ago(name->last_time_seconds, now)});
  return table;
}

// What hangs on a device that does not answer.
LandingTable stuck_table(const Snapshot& snapshot) {
  LandingTable table;
  table.title = "Stuck records";
  table.note = "Records that are active (PACT) for longer than --records.stuck-after.";
  table.columns = {
      {"IOC", false}, {"record", false}, {"type", false}, {"active for at least", true}};
  std::uint64_t stuck = 0;
  std::vector<std::pair<const IocSample*, const ActiveRecord*>> longest;
  for (const IocSample& ioc : snapshot.iocs) {
    if (!ioc.up || !ioc.database || !ioc.memory || !ioc.memory->records) continue;
    stuck += ioc.memory->records->stuck;
    for (const ActiveRecord& record : ioc.memory->records->longest_stuck)
      if (record.record < ioc.database->records.size()) longest.emplace_back(&ioc, &record);
  }
  std::ranges::stable_sort(longest, std::greater<>(),
                           [](const auto& entry) { return entry.second->seconds; });
  for (const auto& [ioc, active] : longest) {
    if (table.rows.size() == kStuckShown) break;
    const RecordIdentity& record = ioc->database->records[active->record];
    table.rows.push_back({ioc->name, record.name,
                          record.type < ioc->database->types.size()
                              ? ioc->database->types[record.type]
                              : std::string(),
                          span_text(active->seconds)});
  }
  if (stuck > table.rows.size())
    table.rest = "And " + std::to_string(stuck - table.rows.size()) +
                 " more: epics_ioc_records_stuck on the page of the metrics counts them.";
  return table;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "" : std::to_string(part * 100 / whole) + " %";
}

// Of the kernel's tables: the fullest first.
LandingTable limits_table(const Snapshot& snapshot) {
  LandingTable table;
  table.title = "Limits";
  table.note =
      "How full the kernel's tables are. What has no room is counted below, and on the page "
      "of the metrics as ioc_exporter_dropped_total.";
  table.columns = {{"table", false}, {"entries", true}, {"room", true}, {"full", true}};
  std::vector<const MapSample*> maps;
  for (const MapSample& map : snapshot.maps)
    if (map.capacity > 0) maps.push_back(&map);
  std::ranges::stable_sort(maps, std::greater<>(), [](const MapSample* map) {
    return static_cast<double>(map->entries) / static_cast<double>(map->capacity);
  });
  for (const MapSample* map : maps)
    table.rows.push_back({map->map, std::to_string(map->entries), std::to_string(map->capacity),
                          share_text(map->entries, map->capacity)});
  return table;
}

}  // namespace

std::vector<LandingTable> landing_tables(const Snapshot& snapshot, double now_seconds) {
  return {stuck_table(snapshot), clients_table(snapshot), puts_table(snapshot, now_seconds),
          searches_table(snapshot, now_seconds), limits_table(snapshot)};
}

}  // namespace ioc_exporter::app
