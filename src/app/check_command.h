// ioc_exporter check: the state of an IOC for Nagios, Icinga and the like, from one scrape.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/command_line.h"
#include "base/metric_lines.h"

namespace ioc_exporter::app {

// Statuses: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, as which wrong usage counts. One line of
// output.
Command check_command();

// In seconds.
struct CheckLimits {
  double unexpected_within = 0;
  double pending_warning = 0, pending_critical = 0;
};

// One IOC's values of a scrape. By family; of puts that the policy does not allow, by family and
// action; of sources of puts, by family, protocol and source.
using IocValues = std::map<std::string, double>;
std::set<std::string, std::less<>> check_families();
void take(IocValues& values, const std::string& ioc, const MetricLine& series);
CommandResult judge(const IocValues& values, const std::string& ioc, const CheckLimits& limits);

}  // namespace ioc_exporter::app
