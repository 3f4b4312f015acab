// One look at the host by collectors: of the daemon, and of commands that look by themselves.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "base/result.h"
#include "exposition/collector.h"
#include "iocs/host.h"

namespace ioc_exporter::app {

// Finds IOCs and reads their databases. `alive` is called in between. An error: not all processes
// were seen.
Result<void> look_at_host(iocs::Host& host, std::span<Collector* const> collectors,
                          std::chrono::steady_clock::time_point now,
                          std::chrono::milliseconds patience,
                          const std::function<void()>& alive = {});

}  // namespace ioc_exporter::app
