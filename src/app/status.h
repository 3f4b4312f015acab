// What the page at "/" and --check say of the exporter itself, from what its collectors told. Pure.
#pragma once

#include <vector>

#include "exposition/collector.h"
#include "exposition/status_page.h"

namespace ioc_exporter::app {

// Adds the probes, the tables' fill, what was lost, and the facts about problems.
void finish_status(const std::vector<ProbeState>& probes, exposition::StatusPage& page);

// Of the kernel's tables: the fullest first.
exposition::StatusTable limits_table(const std::vector<MapSample>& maps);

}  // namespace ioc_exporter::app
