#include "app/pages.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "app/daemon.h"
#include "app/follow_stream.h"
#include "app/puts_request.h"
#include "app/reload.h"
#include "app/rooms.h"
#include "app/status.h"
#include "app/traces_request.h"
#include "app/version.h"
#include "base/process_stats.h"
#include "base/query.h"
#include "base/time_text.h"
#include "iocs/iocs_command.h"
#include "putlog/put_query.h"
#include "records/links_command.h"
#include "traces/trace_query.h"
#include "web/allowed_hosts.h"
#include "web/markdown.h"
#include "web/page.h"
#include "web/scraper.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

constexpr Runbook kRunbooks[] = {
#include "runbooks.inc"
};

// Adds the writes that each record has counted, by source.
void add_writes(const std::vector<IocSample>& iocs, puts::WhoWrote& answer) {
  for (puts::AskedRecord& asked : answer.records) {
    const auto ioc = std::ranges::find(iocs, asked.ioc, &IocSample::name);
    if (ioc == iocs.end() || ioc->no_record_counts || !ioc->writes_since_seconds) continue;
    answer.counting_since_seconds =
        std::max(answer.counting_since_seconds, *ioc->writes_since_seconds);
    auto& writes = asked.writes.emplace();
    for (const RecordSample& sample : ioc->records) {
      if (sample.record == RecordSample::kUnknown ||
          ioc->database->records[sample.record].name != asked.record)
        continue;
      for (std::size_t source = 0; source < sample.puts.size(); ++source)
        if (sample.puts[source] > 0) writes[iocx_put_source_labels[source]] += sample.puts[source];
    }
  }
}

web::Response answer_who_wrote(Rooms& rooms, const web::Request& request) {
  const auto pv = query_value(request.query, "pv");
  if (!pv || pv->empty()) return {400, kPlainText, "400 no PV is given: ask with ?pv=NAME\n"};
  puts::WhoWrote answer = rooms.puts.who_wrote(*pv, rooms.put_log.groups());
  if (rooms.outlets) answer.put_log_file = rooms.outlets->file();
  if (!answer.records.empty()) add_writes(rooms.records.read(), answer);
  return {200, "application/json", puts::to_json(answer)};
}

web::Response answer_links(Rooms& rooms, const web::Request& request) {
  const auto ioc = query_value(request.query, "ioc");
  if (!ioc || ioc->empty()) return refuse(400, "no IOC is given: ask with ?ioc=NAME");
  const bool as_text = query_value(request.query, "format") == "text";
  auto links = records::links_of(rooms.records.read(), *ioc, as_text);
  if (!links) return refuse(404, links.error().message());
  return {200, as_text ? kPlainText : "application/json", std::move(*links)};
}

web::Response answer_ioc_list(Rooms& rooms, const web::Request& request) {
  const iocs::IocList list = rooms.iocs.list();
  const std::string format = query_value(request.query, "format").value_or("json");
  if (list.empty()) return refuse(404, "no IOC runs, or ran lately");
  if (format == "json") return {200, "application/json", to_json(list)};
  if (format == "text") return {200, kPlainText, to_text(list)};
  if (format != "expected" && format != "names")
    return refuse(400, "format is none of json, text, expected and names");
  auto text = iocs::expected_text(list, query_value(request.query, "user").value_or(""),
                                  format == "names", now_seconds());
  return text ? web::Response{200, kPlainText, std::move(*text)}
              : refuse(404, text.error().message());
}

// The page of this host, for tables and headings.
exposition::StatusPage page_of_host(Daemon& daemon) {
  exposition::StatusPage page =
      page_with_rates([&daemon] { return daemon.status(); },
                      [](auto pause) { std::this_thread::sleep_for(pause); });
  page.name = "ioc_exporter";
  page.version = build_info().version;
  page.origin = this_origin();
  return page;
}

web::Response landing_page(Daemon& daemon, const std::string& telemetry_path,
                           const web::Request& request) {
  exposition::StatusPage page = page_of_host(daemon);
  const auto format = query_value(request.query, "format");
  if (format == "text") return {200, kPlainText, status_text(page)};
  if (format == "json") return {200, "application/json", status_json(page)};
  page.description = "What every record of this host's EPICS IOCs does, and who writes to it.";
  page.links = {{telemetry_path, "Metrics", "for Prometheus"},
                {kPutsPagePath, "Puts", "live puts, with --collector.putlog"},
                {kKernelPagePath, "Kernel", "probes, and the kernel's tables"},
                {kRunbooksPath, "Runbooks", "meaning of each alert, and what to do"},
                {"/-/healthy", "Health", "200 while the exporter works"}};
  return {200, web::kHtmlContentType, web::render_landing_page(page)};
}

web::Response runbook_page(std::string_view text) {
  return {200, web::kHtmlContentType, web::render_markdown(text, kRunbooksPath)};
}

web::Response ok_unless(const std::string& what, const std::string& why_not) {
  return why_not.empty() ? web::Response{200, kPlainText, "OK\n"}
                         : web::Response{503, kPlainText, what + why_not + "\n"};
}

}  // namespace

exposition::Origin this_origin() {
  exposition::Origin origin;
  const std::vector<std::string> names = web::names_of_this_host();
  if (!names.empty()) origin.host = names.front();
  origin.start_time_seconds = start_time_seconds();
  return origin;
}

double start_time_seconds() {
  const auto process = read_process_stats(RootedFs());
  return process ? process->start_time_seconds : 0;
}

std::span<const Runbook> runbooks() {
  return kRunbooks;
}

std::map<std::string, web::Handler, std::less<>> routes(Daemon& daemon, Rooms& rooms,
                                                        const std::string& telemetry_path) {
  std::map<std::string, web::Handler, std::less<>> table;
  table["/"] = [&daemon, telemetry_path](const web::Request& request) {
    return landing_page(daemon, telemetry_path, request);
  };
  const auto scraper = std::make_shared<web::Scraper>(
      [&daemon](exposition::Encoder& encoder) { return daemon.scrape(encoder); });
  table[telemetry_path] = [scraper](const web::Request& request) {
    return scraper->answer(request);
  };
  table[puts::kWhoWrotePath] = [&rooms](const web::Request& request) {
    return answer_who_wrote(rooms, request);
  };
  table[puts::kPendingPutsPath] = [&rooms](const web::Request&) {
    return web::Response{200, "application/json", puts::to_json(rooms.puts.pending_puts())};
  };
  table[iocs::kIocListPath] = [&rooms](const web::Request& request) {
    return answer_ioc_list(rooms, request);
  };
  table[records::kLinksPath] = [&rooms](const web::Request& request) {
    return answer_links(rooms, request);
  };
  const auto ring = rooms.outlets ? rooms.outlets->ring() : nullptr;
  table[putlog::kPutsPath] = [ring](const web::Request& request) {
    return answer_puts(ring, request);
  };
  table[kPutsPagePath] = [ring](const web::Request& request) {
    return answer_puts_page(ring, request);
  };
  table[kKernelPagePath] = [&daemon](const web::Request&) {
    return web::Response{200, web::kHtmlContentType, web::render_kernel_page(page_of_host(daemon))};
  };
  table[kPutsScriptPath] = [](const web::Request&) { return answer_puts_script(); };
  table[traces::kTracesPath] = [&rooms](const web::Request& request) {
    return answer_traces(rooms.trace_ring, request, &rooms.traces);
  };
  std::string names = "# Runbooks\n\n";
  for (const Runbook& page : runbooks()) {
    const std::string name(page.name);
    names += "- [" + name + "](" + name + ".md)\n";
    table[kRunbooksPath + name] = [&page](const web::Request&) { return runbook_page(page.text); };
  }
  table[kRunbooksPath] = [names](const web::Request&) { return runbook_page(names); };
  table["/runbooks"] = table[kRunbooksPath];
  table["/-/healthy"] = [&daemon](const web::Request&) {
    return ok_unless("not healthy: ", daemon.why_hangs());
  };
  table["/-/ready"] = [&daemon](const web::Request&) {
    return ok_unless("not ready: ", daemon.why_not_ready());
  };
  return table;
}

std::set<std::string, std::less<>> open_routes() {
  std::set<std::string, std::less<>> paths = {"/-/healthy", "/-/ready"};
  for (const Runbook& page : runbooks()) paths.insert(kRunbooksPath + std::string(page.name));
  return paths;
}

std::map<std::string, web::Handler, std::less<>> local_actions(Rooms& rooms) {
  std::map<std::string, web::Handler, std::less<>> table;
  table[traces::kTracesPath] = [&rooms](const web::Request& request) {
    return answer_demand(rooms.trace_ring ? &rooms.traces : nullptr, request);
  };
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
