// The exporter's own part of the page at "/" and of --check, from its collectors' reports. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "exposition/collector.h"
#include "exposition/status_page.h"

namespace ioc_exporter::app {

// A page with rates: `read` is called again, once and after `wait`, when rates are due.
exposition::StatusPage page_with_rates(const std::function<exposition::StatusPage()>& read,
                                       const std::function<void(std::chrono::milliseconds)>& wait);

// Adds the probes, the tables' fill, what was lost, and the facts about problems.
void finish_status(const std::vector<ProbeState>& probes, exposition::StatusPage& page);

// The page as text and, with kernel_tables, as JSON.
std::string status_text(const exposition::StatusPage& page);
std::string status_json(const exposition::StatusPage& page);

// Output of --check, a table for people.
struct CheckResult {
  std::string text;
  bool complete = false;  // nothing is missing
};
// `failed`: why probes could not be loaded; `discovery`: why not all processes were seen; "" = they
// were.
CheckResult check(const exposition::StatusPage& page, const std::string& failed,
                  const std::string& discovery);

// Of the kernel's tables: the fullest first.
exposition::StatusTable limits_table(const std::vector<MapSample>& maps);

}  // namespace ioc_exporter::app
