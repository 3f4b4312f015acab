#include "app/check.h"

#include <vector>

#include "base/text_table.h"

namespace ioc_exporter::app {
namespace {

TableRow ioc_row(const IocSample& ioc, bool records_work) {
  std::string state = ioc.problem;
  if (state.empty() && ioc.records_attached) state = "counting records";
  if (state.empty() && !ioc.base) state = "counting puts, no EPICS Base";
  if (state.empty()) state = records_work ? "no database loaded yet" : "found";
  return {ioc.name,
          std::to_string(ioc.pid),
          ioc.base_version.empty() ? "-" : ioc.base_version,
          ioc.ca_port ? std::to_string(*ioc.ca_port) : "-",
          ioc.database ? std::to_string(ioc.database->records.size()) : "-",
          state};
}

}  // namespace

CheckResult check(Daemon& daemon) {
  const Snapshot snapshot = daemon.snapshot();
  CheckResult result;
  result.complete = daemon.failed_probes().empty();

  std::vector<TableRow> probes = {{"PROBE", "STATE", "ATTACHMENTS"}};
  bool records_work = false;
  for (const ProbeSample& probe : snapshot.probes) {
    const auto why = daemon.failed_probes().find(probe.probe);
    if (probe.loaded && probe.probe == "record_process") records_work = true;
    probes.push_back({probe.probe,
                      probe.loaded
                          ? "loaded"
                          : "missing: " + (why == daemon.failed_probes().end() ? "" : why->second),
                      std::to_string(probe.attachments)});
  }
  std::vector<TableRow> iocs = {{"IOC", "PID", "BASE", "CA PORT", "RECORDS", "STATE"}};
  for (const IocSample& ioc : snapshot.iocs) {
    if (!ioc.up) continue;
    iocs.push_back(ioc_row(ioc, records_work));
    if (!ioc.problem.empty()) result.complete = false;
  }
  if (!daemon.discovery_problem().empty()) result.complete = false;
  result.text = text_table(probes) + "\n" +
                (iocs.size() > 1 ? text_table(iocs) : "No IOC was found on this host.\n");
  if (!daemon.discovery_problem().empty())
    result.text += "\nfind IOCs: " + daemon.discovery_problem() + "\n";
  return result;
}

}  // namespace ioc_exporter::app
