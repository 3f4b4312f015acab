#include "app/lifecycle_signals.h"

#include <ctime>
#include <exception>
#include <utility>

#include "base/log.h"

namespace ioc_exporter::app {
namespace {

void act(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& problem) {
    log::error("act on a signal: {}", problem.what());
  }
}

}  // namespace

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

bool stopped_before(std::chrono::steady_clock::time_point when) {
  const sigset_t set = stop_signals();
  const auto left = std::chrono::nanoseconds(when - std::chrono::steady_clock::now()).count();
  const timespec timeout = {left > 0 ? left / 1'000'000'000 : 0,
                            left > 0 ? left % 1'000'000'000 : 0};
  return sigtimedwait(&set, nullptr, &timeout) > 0;
}

bool is_stop_pending() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

sigset_t LifecycleSignals::signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGHUP);
  return set;
}

LifecycleSignals::LifecycleSignals(Actions actions)
    : actions_(std::move(actions)), thread_([this] { run(); }) {}

LifecycleSignals::~LifecycleSignals() {
  ends_ = true;
  ::pthread_kill(thread_.native_handle(), SIGHUP);
  thread_.join();
}

void LifecycleSignals::run() {
  const sigset_t set = signals();
  bool wants_reload = false;
  while (true) {
    // A reload that is asked for while another one goes on comes after it.
    const timespec patience = {0, kReloadPatience.count()};
    const int signal =
        wants_reload ? sigtimedwait(&set, nullptr, &patience) : sigwaitinfo(&set, nullptr);
    if (ends_) return;
    if (signal == SIGUSR1) act(actions_.detach);
    if (signal == SIGUSR2) act(actions_.attach);
    wants_reload |= signal == SIGHUP;
    if (!wants_reload || !reloader_.wait(std::chrono::milliseconds(0))) continue;
    wants_reload = false;
    act([this] { reloader_.start([this] { act(actions_.reload); }); });
  }
}

}  // namespace ioc_exporter::app
