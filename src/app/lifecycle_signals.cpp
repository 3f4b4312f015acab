#include "app/lifecycle_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <exception>
#include <utility>

#include "base/log.h"

namespace ioc_exporter::app {

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

sigset_t LifecycleSignals::signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGHUP);
  return set;
}

LifecycleSignals::LifecycleSignals(UniqueFd signals, UniqueFd stop)
    : signals_(std::move(signals)), stop_(std::move(stop)) {}

Result<std::unique_ptr<LifecycleSignals>> LifecycleSignals::start(Actions actions) {
  const sigset_t set = signals();
  UniqueFd taken(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!taken) return last_error("wait for SIGUSR1, SIGUSR2 and SIGHUP");
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return last_error("make an eventfd to end the thread that waits for signals");
  std::unique_ptr<LifecycleSignals> waiting(
      new LifecycleSignals(std::move(taken), std::move(stop)));
  waiting->thread_ =
      std::thread([own = waiting.get(), actions = std::move(actions)] { own->run(actions); });
  return waiting;
}

LifecycleSignals::~LifecycleSignals() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) continue;
  thread_.join();
}

void LifecycleSignals::run(const Actions& actions) const {
  std::array<pollfd, 2> events = {{{stop_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  while (true) {
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) return;
    if (events[0].revents != 0) return;
    signalfd_siginfo info{};
    if (events[1].revents == 0 || ::read(signals_.get(), &info, sizeof info) != sizeof info)
      continue;
    try {
      const auto& act = info.ssi_signo == SIGUSR1   ? actions.detach
                        : info.ssi_signo == SIGUSR2 ? actions.attach
                                                    : actions.reload;
      if (act) act();
    } catch (const std::exception& problem) {
      log::error("signal {}: {}", info.ssi_signo, problem.what());
    }
  }
}

}  // namespace ioc_exporter::app
