#include "puts/tables.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "puts/totals/put_families.h"

namespace ioc_exporter::puts {

exposition::StatusTable clients_table(const PutsSamples& samples) {
  exposition::StatusTable table;
  table.title = "Clients";
  table.note = "Who is connected over Channel Access, and with how much.";
  table.columns = {{"IOC", false},         {"client", false},  {"user", false},
                   {"client_host", false}, {"circuits", true}, {"channels", true},
                   {"monitors", true}};
  std::vector<const ClientSample*> clients;
  for (const ClientSample& client : samples.clients) clients.push_back(&client);
  std::ranges::sort(clients, {}, [](const ClientSample* c) {
    return std::tie(c->ioc, c->client, c->user, c->host);
  });
  for (const ClientSample* c : clients) {
    if (table.rows.size() == kClientsShown) break;
    table.rows.push_back({c->ioc, c->client, c->user, c->host, std::to_string(c->circuits),
                          std::to_string(c->channels), std::to_string(c->monitors)});
  }
  if (clients.size() > table.rows.size())
    table.more = "And " + std::to_string(clients.size() - table.rows.size()) +
                 " more: epics_client_circuits on /metrics has all.";
  return table;
}

namespace {

std::vector<std::string> put_row(const PutSample& put, std::string_view verdict, double now) {
  return {exposition::ago_text(put.last_time_seconds, now),
          std::string(verdict),
          put.ioc,
          put.pv,
          put.client,
          put.user,
          put.host,
          std::string(op_name(put.op, put.by_pva))};
}

}  // namespace

exposition::StatusTable puts_table(
    const PutsSamples& samples, double now,
    const std::function<std::string_view(const PutSample&)>& verdict) {
  exposition::StatusTable table;
  table.title = "Latest puts";
  table.note =
      "The last put of those who wrote last; of those whose puts the policy expects one a user. Of "
      "one PV: ioc_exporter who-wrote PV.";
  table.columns = {{"when", false},   {"policy", false}, {"IOC", false},         {"PV", false},
                   {"client", false}, {"user", false},   {"client_host", false}, {"op", false}};
  std::vector<const PutSample*> puts;
  for (const PutSample& put : samples.puts)
    if (put.last_time_seconds > 0) puts.push_back(&put);
  std::ranges::sort(puts, std::greater<>(),
                    [](const PutSample* put) { return put->last_time_seconds; });
  std::vector<std::vector<std::string>> expected;
  std::set<std::pair<std::string_view, std::string_view>> users;
  for (const PutSample* put : puts) {
    if (table.rows.size() == kPutsShown) break;
    const std::string_view judged = verdict(*put);
    if (judged != "expected")
      table.rows.push_back(put_row(*put, judged, now));
    else if (users.size() < kPutsShown && users.emplace(put->user, put->host).second)
      expected.push_back(put_row(*put, judged, now));
  }
  std::ranges::move(expected, std::back_inserter(table.rows));
  return table;
}

exposition::StatusTable pending_table(const PutsSamples& samples, double now) {
  exposition::StatusTable table;
  table.title = "Puts with callback that wait";
  table.note = "The oldest that have not ended yet. More: ioc_exporter puts --pending.";
  table.columns = {{"since", false},  {"IOC", false},  {"PV", false},
                   {"client", false}, {"user", false}, {"client_host", false}};
  std::vector<const PendingPutSample*> oldest;
  std::uint64_t all = 0;
  for (const PendingPutsSample& ioc : samples.pending_puts) {
    all += ioc.count;
    for (const PendingPutSample& put : ioc.oldest) oldest.push_back(&put);
  }
  std::ranges::sort(oldest, {}, &PendingPutSample::since_seconds);
  if (oldest.size() > kPendingShown) oldest.resize(kPendingShown);
  for (const PendingPutSample* put : oldest)
    table.rows.push_back({exposition::ago_text(put->since_seconds, now), put->ioc, put->pv,
                          put->client, put->user, put->host});
  if (all > table.rows.size())
    table.more = "And " + std::to_string(all - table.rows.size()) + " more.";
  return table;
}

exposition::StatusTable searches_table(const PutsSamples& samples, double now) {
  exposition::StatusTable table;
  table.title = "Searched in vain";
  table.note =
      "Names that clients search by UDP again and again, without a channel at a server of this "
      "host "
      "since: a wrong name, an IOC that is down or on another host.";
  table.columns = {
      {"name", false}, {"client", false}, {"requests", true}, {"since", false}, {"last", false}};
  std::vector<const SearchedName*> names;
  for (const SearchedName& name : samples.searched_names) names.push_back(&name);
  std::ranges::sort(names, std::greater<>(), &SearchedName::requests);
  for (const SearchedName* name : names)
    table.rows.push_back({name->name, name->client, std::to_string(name->requests),
                          exposition::ago_text(name->first_time_seconds, now),
                          exposition::ago_text(name->last_time_seconds, now)});
  return table;
}

}  // namespace ioc_exporter::puts
