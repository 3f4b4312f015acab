#include "app/host_loop.h"

namespace ioc_exporter::app {

Result<void> look_at_host(iocs::Host& host, std::span<Collector* const> collectors,
                          std::chrono::steady_clock::time_point now,
                          std::chrono::milliseconds patience, const std::function<void()>& alive) {
  Result<void> found = host.poll(now, patience);
  {
    // At one go: a scrape that shows an IOC also shows the puts from before it was found.
    const std::scoped_lock lock(host.mutex());
    host.apply(now);
    for (Collector* collector : collectors) collector->follow(now);
  }
  bool more = false;
  do {  // IOCs that start together: the first do not wait for the last one's database
    more = host.read_databases(now, patience);
    if (alive) alive();
    if (host.has_databases_to_apply()) {
      // At one go, too: a scrape that shows records shows them counted.
      const std::scoped_lock lock(host.mutex());
      host.apply_databases(now);
      for (Collector* collector : collectors) collector->follow(now);
    }
    for (Collector* collector : collectors) collector->tick(now);
  } while (more);
  return found;
}

}  // namespace ioc_exporter::app
