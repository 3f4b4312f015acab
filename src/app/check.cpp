#include "app/check.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ioc_exporter::app {
namespace {

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

Row ioc_row(const IocSample& ioc, bool records_work) {
  std::string state = ioc.problem;
  if (state.empty() && ioc.records_attached) state = "counting records";
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

  std::vector<Row> probes = {{"PROBE", "STATE", "ATTACHMENTS"}};
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
  std::vector<Row> iocs = {{"IOC", "PID", "BASE", "CA PORT", "RECORDS", "STATE"}};
  for (const IocSample& ioc : snapshot.iocs) {
    if (!ioc.up) continue;
    iocs.push_back(ioc_row(ioc, records_work));
    if (!ioc.problem.empty()) result.complete = false;
  }
  if (!daemon.discovery_problem().empty()) result.complete = false;
  result.text =
      table(probes) + "\n" + (iocs.size() > 1 ? table(iocs) : "No IOC was found on this host.\n");
  if (!daemon.discovery_problem().empty())
    result.text += "\nfind IOCs: " + daemon.discovery_problem() + "\n";
  return result;
}

}  // namespace ioc_exporter::app
