// What the web server serves: the routes, and the landing page from a snapshot.
#pragma once

#include <map>
#include <string>

#include "app/daemon.h"
#include "app/rates.h"
#include "app/reload.h"
#include "web/landing_page.h"
#include "web/message.h"
#include "app/self_families.h"
#include "base/samples.h"

namespace ioc_exporter::app {

// Handlers for "/", the metrics, who-wrote, "/-/healthy" and "/-/ready". They use `daemon` until
// the server stops.
std::map<std::string, web::Handler, std::less<>> routes(Daemon& daemon,
                                                         const std::string& telemetry_path);

// Handlers of POST "/-/detach", "/-/attach" and "/-/reload"; the same.
std::map<std::string, web::Handler, std::less<>> actions(Daemon& daemon, Reload& reload);

web::LandingPage landing_page(const Snapshot& snapshot, const BuildInfo& build,
                               const std::string& telemetry_path, const IocRatesByName& rates = {});

}  // namespace ioc_exporter::app
