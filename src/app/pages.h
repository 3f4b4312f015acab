// Routes of the web server.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "exposition/status_page.h"
#include "web/message.h"

namespace ioc_exporter::app {

class Daemon;
class Reload;
struct Rooms;

// A page of docs/runbooks, which alerts link to: every exporter serves those of its own version.
struct Runbook {
  std::string_view name;  // of the alert
  std::string_view text;  // Markdown
};
inline constexpr const char* kRunbooksPath = "/runbooks/";
std::span<const Runbook> runbooks();

inline constexpr const char* kKernelPagePath = "/kernel";

// Of this process, since 1970; 0: not known.
double start_time_seconds();
// Of this process, for headings.
exposition::Origin this_origin();

// Handlers for "/", the metrics, who-wrote, the put log, traces, the runbooks, "/-/healthy" and
// "/-/ready". They use `daemon` and `rooms` until the server stops.
std::map<std::string, web::Handler, std::less<>> routes(Daemon& daemon, Rooms& rooms,
                                                        const std::string& telemetry_path);

// Routes that cost nothing and show nothing of the host.
std::set<std::string, std::less<>> open_routes();

// Handlers of POST for clients on this host: of live traces; the same.
std::map<std::string, web::Handler, std::less<>> local_actions(Rooms& rooms);

// Handlers of POST "/-/detach", "/-/attach" and "/-/reload"; the same.
std::map<std::string, web::Handler, std::less<>> actions(Daemon& daemon, Reload& reload);

}  // namespace ioc_exporter::app
