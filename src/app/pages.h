// What the web server serves: the routes, and the landing page from a snapshot.
#pragma once

#include <map>
#include <string>

#include "app/daemon.h"
#include "app/rates.h"
#include "app/reload.h"
#include "http/landing_page.h"
#include "http/message.h"
#include "metrics/self_families.h"
#include "probes/samples.h"

namespace ioc_exporter::app {

// Handlers for "/", the metrics, who-wrote, "/-/healthy" and "/-/ready". They use `daemon` until
// the server stops.
std::map<std::string, http::Handler, std::less<>> routes(Daemon& daemon,
                                                         const std::string& telemetry_path);

// Handlers of POST "/-/detach", "/-/attach" and "/-/reload"; the same.
std::map<std::string, http::Handler, std::less<>> actions(Daemon& daemon, Reload& reload);

http::LandingPage landing_page(const Snapshot& snapshot, const metrics::BuildInfo& build,
                               const std::string& telemetry_path, const IocRatesByName& rates = {});

}  // namespace ioc_exporter::app
