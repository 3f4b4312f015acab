// LifecycleSignals: SIGUSR1 takes all probes off, SIGUSR2 attaches them again. A thread of its own
// waits for them, so that neither waits for what the exporter is doing.
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <thread>

#include "util/result.h"
#include "util/unique_fd.h"

namespace ioc_exporter::app {

class LifecycleSignals {
 public:
  // To be blocked in all threads before this is started: in the first thread, before it starts
  // others.
  static sigset_t signals();

  static Result<std::unique_ptr<LifecycleSignals>> start(std::function<void()> detach,
                                                         std::function<void()> attach);
  ~LifecycleSignals();
  LifecycleSignals(const LifecycleSignals&) = delete;
  LifecycleSignals& operator=(const LifecycleSignals&) = delete;

 private:
  LifecycleSignals(UniqueFd signals, UniqueFd stop);
  void run(const std::function<void()>& detach, const std::function<void()>& attach) const;

  UniqueFd signals_, stop_;
  std::thread thread_;
};

}  // namespace ioc_exporter::app
