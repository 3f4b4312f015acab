#include "app/pages.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>

#include "app/graph_request.h"
#include "app/landing_tables.h"
#include "app/scraper.h"
#include "base/time_text.h"
#include "app/version.h"
#include "ca/who_wrote.h"
#include "base/query.h"
#include "base/process_stats.h"

namespace ioc_exporter::app {
namespace {

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string percent_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g %%", share * 100);
  return text.data();
}

std::uint64_t unnamed_puts(const Snapshot& snapshot) {
  return std::accumulate(snapshot.puts.begin(), snapshot.puts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const PutSample& put) {
                           return put.pv.empty() ? sum + put.count : sum;
                         });
}

std::vector<std::string> notes_of(const Snapshot& snapshot) {
  std::vector<std::string> notes;
  if (snapshot.detached)
    notes.push_back(
        "All probes are detached, by SIGUSR1 or POST /-/detach: nothing is counted. SIGUSR2 "
        "attaches "
        "them again.");
  for (const IocSample& ioc : snapshot.iocs)
    if (ioc.overhead && ioc.overhead->attached_share > 0 && ioc.overhead->attached_share < 1)
      notes.push_back("ioc " + ioc.name +
                      ": its records' counts are estimates. The probes are attached " +
                      percent_text(ioc.overhead->attached_share) +
                      " of the time, to stay within --overhead.budget.");
  for (const CaServerSample& server : snapshot.ca_servers)
    if (server.unnamed_channels > 0)
      notes.push_back("ioc " + server.ioc + ": " + plural(server.unnamed_channels, "channel") +
                      " whose PV name is not known. Puts to them are counted with pv=\"\".");
  if (const std::uint64_t unnamed = unnamed_puts(snapshot); unnamed > 0)
    notes.push_back(plural(unnamed, "put") +
                    " on channels whose PV name was not known. They are counted with pv=\"\".");
  for (const DropSample& drop : snapshot.drops)
    if (drop.count > 0)
      notes.push_back(drop.probe + ": " + std::to_string(drop.count) + " × " + drop.reason +
                      " (see ioc_exporter_dropped_total)");
  return notes;
}

// Each IOC with what its clients hold, where that is counted.
web::LandingIoc landing_ioc(const IocSample& ioc, const Snapshot& snapshot,
                             const IocRatesByName& rates) {
  web::LandingIoc row;
  row.name = ioc.name;
  row.up = ioc.up;
  row.pid = ioc.pid;
  row.base_version = ioc.base ? ioc.base_version : "another CA server";
  row.ca_port = ioc.ca_port;
  if (ioc.database) row.records = ioc.database->records.size();
  const auto clients = std::ranges::find(snapshot.ca_servers, ioc.name, &CaServerSample::ioc);
  if (ioc.up && clients != snapshot.ca_servers.end()) {
    row.circuits = clients->circuits;
    row.channels =
        std::accumulate(clients->channels.begin(), clients->channels.end(), std::uint64_t{0});
  }
  row.problem = ioc.problem;
  row.notes = ioc.notes;
  if (const auto found = rates.find(ioc.name); found != rates.end()) {
    row.processed_rate = found->second.processed;
    row.put_rate = found->second.puts;
  }
  if (ioc.up && ioc.overhead) row.cost = ioc.overhead->core_share;
  return row;
}

std::string rate_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", rate >= 100 || rate == 0 ? 0 : 1, rate);
  return text.data();
}

// What one wants to know at a glance: how much there is, how busy it is, and whether all is well.
std::vector<web::LandingFact> facts_of(const Snapshot& snapshot, const IocRatesByName& rates) {
  std::uint64_t up = 0, gone = 0, problems = 0, records = 0, dropped = 0;
  for (const IocSample& ioc : snapshot.iocs) {
    ++(ioc.up ? up : gone);
    if (!ioc.problem.empty()) ++problems;
    if (ioc.up && ioc.database) records += ioc.database->records.size();
  }
  for (const ProbeSample& probe : snapshot.probes) problems += probe.loaded ? 0 : 1;
  for (const DropSample& drop : snapshot.drops) dropped += drop.count;
  double processed = 0, puts = 0;
  for (const auto& [ioc, rate] : rates) {
    processed += rate.processed.value_or(0);
    puts += rate.puts;
  }
  std::vector<web::LandingFact> facts = {{std::to_string(up), up == 1 ? "IOC up" : "IOCs up"},
                                          {std::to_string(records), "records"}};
  if (gone > 0) facts.push_back({std::to_string(gone), "gone", true});
  if (!rates.empty()) {
    facts.push_back({rate_text(processed), "processed/s"});
    facts.push_back({rate_text(puts), "puts/s"});
  }
  facts.push_back({std::to_string(snapshot.ca_clients.size()), "clients"});
  facts.push_back({std::to_string(problems), problems == 1 ? "problem" : "problems", problems > 0});
  facts.push_back({std::to_string(dropped), "not counted in full"});
  if (snapshot.detached) facts.push_back({"detached", "nothing is counted", true});
  return facts;
}

web::Response answer_who_wrote(Daemon& daemon, const web::Request& request) {
  const auto pv = query_value(request.query, "pv");
  if (!pv || pv->empty())
    return {400, "text/plain; charset=utf-8", "400 which PV? ask for ?pv=NAME\n"};
  ca::WhoWrote answer = ca::who_wrote(daemon.snapshot(), *pv);
  if (const auto process = read_process_stats(RootedFs()))
    answer.counting_since_seconds = process->start_time_seconds;
  return {200, "application/json", ca::to_json(answer)};
}

}  // namespace

web::LandingPage landing_page(const Snapshot& snapshot, const BuildInfo& build,
                               const std::string& telemetry_path, const IocRatesByName& rates) {
  web::LandingPage page;
  page.name = "ioc_exporter";
  page.version = build.version;
  page.description = "What every record of this host's EPICS IOCs does, and who writes to it.";
  page.links = {{telemetry_path, "Metrics", "for Prometheus"},
                {kGraphPath, "Graph", "what a record sets in motion, with --records.links"},
                {"/-/healthy", "Health", "200 while the exporter runs"}};
  for (const IocSample& ioc : snapshot.iocs) page.iocs.push_back(landing_ioc(ioc, snapshot, rates));
  page.tables = landing_tables(snapshot, now_seconds());
  for (const ProbeSample& probe : snapshot.probes)
    page.probes.push_back({probe.probe, probe.loaded,
                           probe.loaded ? plural(probe.attachments, "attachment") : "not loaded"});
  page.notes = notes_of(snapshot);
  page.facts = facts_of(snapshot, rates);
  return page;
}

std::map<std::string, web::Handler, std::less<>> routes(Daemon& daemon,
                                                         const std::string& telemetry_path) {
  std::map<std::string, web::Handler, std::less<>> table;
  table["/"] = [&daemon, telemetry_path, rates = std::make_shared<Rates>()](const web::Request&) {
    const Snapshot snapshot = daemon.snapshot();
    return web::Response{
        200, web::kHtmlContentType,
        render_landing_page(landing_page(snapshot, build_info(), telemetry_path,
                                         rates->of(snapshot, Rates::Clock::now())))};
  };
  const auto scraper =
      std::make_shared<Scraper>([&daemon] { return daemon.scrape_snapshot(); },
                                [&daemon](const web::Request& request, std::uint64_t policy_look) {
                                  daemon.served(request, policy_look);
                                });
  table[telemetry_path] = [scraper](const web::Request& request) {
    return scraper->answer(request);
  };
  table[ca::kWhoWrotePath] = [&daemon](const web::Request& request) {
    return answer_who_wrote(daemon, request);
  };
  table[kGraphPath] = [&daemon](const web::Request& request) {
    return answer_graph(daemon.snapshot(), daemon.counts_links(), request);
  };
  const web::Handler ok = [](const web::Request&) {
    web::Response response;
    response.body = "OK\n";
    return response;
  };
  table["/-/healthy"] = ok;
  table["/-/ready"] = ok;
  return table;
}

std::map<std::string, web::Handler, std::less<>> actions(Daemon& daemon, Reload& reload) {
  std::map<std::string, web::Handler, std::less<>> table;
  table["/-/detach"] = [&daemon](const web::Request&) {
    daemon.detach();
    web::Response response;
    response.body = "detached\n";
    return response;
  };
  table["/-/attach"] = [&daemon](const web::Request&) {
    daemon.attach();
    web::Response response;
    response.body = "attached\n";
    return response;
  };
  table["/-/reload"] = [&reload](const web::Request&) {
    const auto result = reload.reload();
    web::Response response;
    response.status = result ? 200 : 500;
    response.body = (result ? "reloaded" : result.error().message()) + "\n";
    return response;
  };
  return table;
}

}  // namespace ioc_exporter::app
