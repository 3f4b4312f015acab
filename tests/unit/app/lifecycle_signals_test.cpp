#include "app/lifecycle_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <utility>

namespace ioc_exporter::app {
namespace {

// The first reload reads a file for ever, as it seems.
void send_signals_during_a_reload() {
  const sigset_t set = LifecycleSignals::signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::promise<void> reloads, may_end, reloads_again, detached, attached;
  bool is_first = true;
  const auto reload = [&] {
    if (!std::exchange(is_first, false)) return reloads_again.set_value();
    reloads.set_value();
    may_end.get_future().wait();
  };
  LifecycleSignals signals({[&] { detached.set_value(); }, [&] { attached.set_value(); }, reload});
  ::kill(::getpid(), SIGHUP);
  reloads.get_future().wait();
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGUSR1);
  detached.get_future().wait();
  ::kill(::getpid(), SIGUSR2);
  attached.get_future().wait();
  may_end.set_value();
  reloads_again.get_future().wait();
}

// In a process of its own, whose threads all have these signals blocked.
TEST(LifecycleSignals, AReloadHoldsUpNoOtherSignalAndIsDoneAgainWhenItIsAskedForAgain) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    send_signals_during_a_reload();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ioc_exporter::app
