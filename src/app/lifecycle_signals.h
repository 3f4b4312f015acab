// LifecycleSignals: SIGUSR1 takes all probes off, SIGUSR2 attaches them again, SIGHUP reloads the
// configuration. A thread of its own waits for them, so that no signal waits for the exporter's
// work; and another one reloads, so that none waits for a file.
#pragma once

#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/worker.h"

namespace ioc_exporter::app {

// SIGINT and SIGTERM, to be blocked as those below.
sigset_t stop_signals();
// Sleeps until `when` unless one of them comes first; then returns true.
bool stopped_before(std::chrono::steady_clock::time_point when);
// One of them has come, and waits for that.
bool is_stop_pending();

class LifecycleSignals {
 public:
  // To be blocked in all threads before this is started: in the first thread, before it starts
  // others.
  static sigset_t signals();

  struct Actions {
    std::function<void()> detach, attach, reload;
  };
  explicit LifecycleSignals(Actions actions);
  // Waits for a reload that is under way.
  ~LifecycleSignals();
  LifecycleSignals(const LifecycleSignals&) = delete;
  LifecycleSignals& operator=(const LifecycleSignals&) = delete;

 private:
  static constexpr std::chrono::nanoseconds kReloadPatience{100'000'000};

  void run();

  const Actions actions_;
  std::atomic<bool> ends_ = false;
  Worker reloader_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ioc_exporter::app
