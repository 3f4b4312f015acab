// LifecycleSignals: SIGUSR1 takes all probes off, SIGUSR2 attaches them again, SIGHUP reloads the
// configuration. A thread of its own waits for them, so that no signal waits for the exporter's
// work.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::app {

// SIGINT and SIGTERM, to be blocked as those below.
sigset_t stop_signals();
// Sleeps until `when` unless one of them comes first; then returns true.
bool stopped_before(std::chrono::steady_clock::time_point when);

class LifecycleSignals {
 public:
  // To be blocked in all threads before this is started: in the first thread, before it starts
  // others.
  static sigset_t signals();

  struct Actions {
    std::function<void()> detach, attach, reload;
  };
  static Result<std::unique_ptr<LifecycleSignals>> start(Actions actions);
  ~LifecycleSignals();
  LifecycleSignals(const LifecycleSignals&) = delete;
  LifecycleSignals& operator=(const LifecycleSignals&) = delete;

 private:
  LifecycleSignals(UniqueFd signals, UniqueFd stop);
  void run(const Actions& actions) const;

  UniqueFd signals_, stop_;
  std::thread thread_;
};

}  // namespace ioc_exporter::app
