#include "app/check.h"

#include <vector>

#include "base/text_table.h"

namespace ioc_exporter::app {

CheckResult check(Daemon& daemon) {
  const exposition::StatusPage page = daemon.status();
  CheckResult result;
  result.complete = daemon.why_failed().empty();

  std::vector<TableRow> probes = {{"PROBE", "STATE", "ATTACHMENTS"}};
  for (const exposition::StatusProbe& probe : page.probes)
    probes.push_back({probe.name, probe.ok ? "loaded" : "missing: " + probe.problem,
                      std::to_string(probe.attachments)});
  std::string notes;
  std::vector<TableRow> iocs = {{"IOC", "PID", "BASE", "CA PORT", "RECORDS", "STATE"}};
  for (const exposition::StatusIoc& ioc : page.iocs) {
    if (!ioc.up) continue;
    iocs.push_back({ioc.name, std::to_string(ioc.pid),
                    ioc.base_version.empty() ? "-" : ioc.base_version,
                    ioc.ca_port ? std::to_string(*ioc.ca_port) : "-",
                    ioc.records ? std::to_string(*ioc.records) : "-",
                    ioc.problem.empty() ? ioc.state : ioc.problem});
    if (!ioc.problem.empty()) result.complete = false;
    for (const std::string& note : ioc.notes) notes += "\nioc " + ioc.name + ": " + note;
  }
  const std::string discovery = daemon.discovery_problem();
  if (!discovery.empty()) result.complete = false;
  result.text = text_table(probes) + "\n" +
                (iocs.size() > 1 ? text_table(iocs) : "No IOC was found on this host.\n");
  if (!notes.empty()) result.text += notes + "\n";
  if (!discovery.empty()) result.text += "\nfind IOCs: " + discovery + "\n";
  return result;
}

}  // namespace ioc_exporter::app
