// ioc_exporter: wiring only. Options, daemon, web server, and a loop that ends with SIGINT or
// SIGTERM. SIGUSR1 and SIGUSR2 detach and attach.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string_view>
#include <thread>

#include "app/commands.h"
#include "app/confinement.h"
#include "app/daemon.h"
#include "app/helpers.h"
#include "app/lifecycle_signals.h"
#include "app/logging.h"
#include "app/notify.h"
#include "app/options.h"
#include "app/pages.h"
#include "app/reload.h"
#include "app/rooms.h"
#include "app/sandbox.h"
#include "app/site_config.h"
#include "app/status.h"
#include "app/version.h"
#include "base/log.h"
#include "web/allowed_hosts.h"
#include "web/scraper.h"
#include "web/server.h"

namespace {

using namespace ioc_exporter;
using Clock = std::chrono::steady_clock;

constexpr int kStartError = 1;
constexpr int kUsageError = 2;
constexpr std::chrono::seconds kEndPatience{5};
constexpr std::chrono::milliseconds kLogPatience{250};

int fail(int status, const std::string& what) {
  app::wait_until_logged(kLogPatience);
  app::say("ioc_exporter: " + what + "\n");
  return status;
}

// Says READY after the first scan of the host, and from then on what changes.
void notify(app::Notifier& notifier, app::Daemon& daemon, std::string& said) {
  std::string state = daemon.state_in_words();
  if (said.empty())
    notifier.ready(state);
  else if (state != said)
    notifier.status(state);
  said = std::move(state);
  notifier.alive();
}

// Scans the host again and again until `end` (then false), a signal or the helper's end (then
// true). Only this loop reports to the watchdog, after it held the daemon's lock: the watchdog
// must notice when the loop or the lock hangs.
bool run_until(app::Daemon& daemon, Clock::time_point end, app::Notifier& notifier) {
  std::string said;
  while (true) {
    daemon.tick();
    if (!daemon.why_ended().empty()) return true;
    notify(notifier, daemon, said);
    const auto next_tick = std::min(Clock::now() + daemon.interval(), end);
    while (Clock::now() < next_tick) {
      const auto due = daemon.next_due();
      auto next = due ? std::min(*due, next_tick) : next_tick;
      if (const auto alive = notifier.next_alive()) next = std::min(*alive, next);
      if (app::stopped_before(next)) return true;
      daemon.note_alive();
      if (due) daemon.act_on_due();
      notifier.alive();
    }
    if (Clock::now() >= end) return false;
  }
}

int print(const std::string& text, int status) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) != 0 || !written)
    return fail(kStartError, "write to standard output failed");
  return status;
}

int run_check(app::Daemon& daemon, const app::Rooms& rooms, const app::Options& options) {
  // Two scans: what is in the middle of a start or an exec at the first is done at the second.
  app::Notifier nobody;
  if (run_until(daemon, Clock::now() + options.iocs.interval, nobody)) return 0;
  daemon.tick();
  const app::CheckResult result =
      app::check(daemon.status(), rooms.why_failed(), daemon.discovery_problem());
  return print(result.text, result.complete ? 0 : kStartError);
}

int run_once(app::Daemon& daemon, const app::Options& options) {
  app::Notifier nobody;
  daemon.tick();  // it attaches, which may take longer than the time to count
  if (run_until(daemon, Clock::now() + *options.once, nobody)) return 0;
  return print(web::Scraper([&daemon](exposition::Encoder& encoder) {
                 return daemon.scrape(encoder);
               }).text(),
               0);
}

// Whatever hangs, a disk for example: the probes are off by then.
void end_within(std::chrono::seconds patience) {
  std::thread([patience] {
    std::this_thread::sleep_for(patience);
    app::wait_until_logged(kLogPatience);
    app::say("ioc_exporter: something hangs: it ends without waiting for it\n");
    ::_exit(0);
  }).detach();
}

int serve(app::Daemon& daemon, app::Rooms& rooms, app::Reload& reload, const app::Options& options,
          app::Notifier& notifier) {
  web::ServerOptions web;
  web.listen = options.web.listen;
  web.max_requests = options.web.max_requests;
  web.routes = app::routes(daemon, rooms, options.web.telemetry_path);
  web.local_actions = app::local_actions(rooms);
  if (options.web.lifecycle) web.actions = app::actions(daemon, reload);
  if (!options.web.config_file.empty()) {
    web.knows = [&reload](const web::Request& request) { return reload.knows(request); };
    web.admit = [&reload](const web::Request& request) { return reload.admit(request); };
    web.headers = [&reload] { return reload.headers(); };
  }
  if (reload.speaks_tls()) web.tls = [&reload] { return reload.tls(); };
  web.action_users.insert(options.web.lifecycle_users.begin(), options.web.lifecycle_users.end());
  web.allowed_hosts = options.web.allowed_hosts;
  for (std::string& name : web::names_of_this_host()) web.allowed_hosts.push_back(std::move(name));
  web.unlimited = app::open_routes();
  web.refused = [&daemon](const web::Request& request, const std::string& reason) {
    daemon.http().refused(request, reason);
  };
  web.acted = [&daemon](const web::Request& request, const std::string& user) {
    daemon.http().acted(request, user);
  };
  web.answered = [&daemon, path = options.web.telemetry_path](const web::Request& request) {
    if (request.path == path) daemon.http().scraped();
  };
  auto server = web::Server::start(std::move(web));
  if (!server) return fail(kStartError, server.error().message());
  if (options.sandbox)
    if (auto ok = app::refuse_listening(); !ok) return fail(kStartError, ok.error().message());
  for (const std::string& address : (*server)->addresses()) log::info("listening on {}", address);
  run_until(daemon, Clock::time_point::max(), notifier);
  if (const std::string ended = daemon.why_ended(); !ended.empty()) return fail(kStartError, ended);
  notifier.stopping();
  log::info("stopping");
  end_within(kEndPatience);
  daemon.detach_to_end();
  return 0;
}

int run(int argc, char** argv) {
  if (const auto status = app::run_command(argc, argv)) return *status;
  auto parsed = app::parse_options(argc, argv);
  if (!parsed) return fail(kUsageError, parsed.error().message() + " (see --help)");
  if (const auto* text = std::get_if<app::PrintAndExit>(&*parsed)) return print(text->text, 0);
  app::Options& options = std::get<app::Options>(*parsed);
  if (options.config_check) {
    const app::ConfigCheck checked = app::check_config(options);
    if (checked.valid) return print(checked.text, 0);
    std::fputs(checked.text.c_str(), stderr);
    return kStartError;
  }
  if (auto chosen = app::choose_user(options.privileges); !chosen)
    return fail(kStartError, chosen.error().message());
  const auto site = app::site_config(options);
  if (!site) return fail(kStartError, site.error().message());
  app::Reload reload(options, site->options);
  if (auto opened = reload.open_web(); !opened) return fail(kStartError, opened.error().message());
  app::close_inherited_files();
  if (auto taken = app::take_all_descriptors(); !taken)
    return fail(kStartError, taken.error().message());
  app::set_up_logging(options.log_level, options.log_format);

  // Before the first thread starts: they all inherit it, and only stopped_before() and
  // LifecycleSignals take these signals.
  const sigset_t to_stop = app::stop_signals(), lifecycle = app::LifecycleSignals::signals();
  pthread_sigmask(SIG_BLOCK, &to_stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &lifecycle, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit of files is an error

  app::Notifier notifier;
  if (auto reached = app::Notifier::from_environment())
    notifier = std::move(*reached);
  else
    log::warn("{}", reached.error().message());
  log::info("starting ioc_exporter {}", app::build_info().version);
  auto loaded = app::load_rooms(site->options);
  if (!loaded) return fail(kStartError, loaded.error().message());
  app::Rooms& rooms = **loaded;
  auto attach = app::start_attach_helper(rooms, options);
  if (!attach) return fail(kStartError, attach.error().message());
  app::Daemon daemon(*site, std::move(*loaded), std::move(*attach));
  reload.connect({[&](const app::SiteSettings& changed) { daemon.use(changed); },
                  [&](const app::ConfigSample& sample) { daemon.set_config(sample); },
                  [&] { notifier.reloading(); }, [&] { notifier.ready(daemon.state_in_words()); }});
  if (auto confined = app::confine(options); !confined)
    return fail(kStartError, confined.error().message());
  app::start_log_thread();
  app::LifecycleSignals signals(
      {[&] { daemon.detach(); }, [&] { daemon.attach(); }, [&] { (void)reload.reload(); }});
  if (options.check) return run_check(daemon, rooms, options);
  if (options.once) return run_once(daemon, options);
  return serve(daemon, rooms, reload, options, notifier);
}

}  // namespace

int main(int argc, char** argv) {
  // Else the many threads that serve requests keep twice as much memory among them.
  ::mallopt(M_ARENA_MAX, 2);
  int status = kStartError;
  try {
    status = run(argc, argv);
  } catch (const std::exception& problem) {
    fail(kStartError, problem.what());
  }
  app::wait_until_logged(kLogPatience);
  return status;
}
