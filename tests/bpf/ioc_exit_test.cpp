// Processes that are stopped or traced, as the kernel reports them: bpf/iocs/holds.bpf.h.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "iocs/health/exit_watch.h"
#include "kernel/load_error.h"
#include "support/value_of.h"

namespace ioc_exporter::iocs {
namespace {

class IocHolds : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    if (!kernel::has_btf()) GTEST_SKIP() << "this kernel has no BTF";
    object_.emplace(value_of(ExitObject::load()));
    watched_ = child();
    other_ = child();
    ASSERT_TRUE(object_->exits().update(static_cast<std::uint32_t>(watched_), {}));
  }
  void TearDown() override {
    for (const pid_t pid : {watched_, other_})
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, __WALL);
      }
  }
  static pid_t child() {
    const pid_t pid = ::fork();
    if (pid == 0)
      for (;;) ::pause();
    return pid;
  }
  // Returns once it has stopped, or goes on.
  static void wait_for(pid_t pid, int options) {
    int how = 0;
    ASSERT_EQ(::waitpid(pid, &how, options | __WALL), pid);
  }
  // How many changes were told since the last call.
  std::uint64_t told() {
    const std::uint64_t before = told_;
    told_ = object_->hold_changes();
    return told_ - before;
  }
  // The same, once there are as many: who waits is told of a state before its SIGCHLD is sent.
  std::uint64_t told(std::uint64_t at_least) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (object_->hold_changes() - told_ < at_least && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return told();
  }

  std::optional<ExitObject> object_;
  pid_t watched_ = 0, other_ = 0;
  std::uint64_t told_ = 0;
};

TEST_F(IocHolds, SignalsThatStopAreTold) {
  EXPECT_EQ(told(), 0u);
  ::kill(watched_, SIGSTOP);
  wait_for(watched_, WUNTRACED);
  EXPECT_EQ(told(2), 2u) << "the signal, and that it has stopped";
  ::kill(watched_, SIGCONT);
  wait_for(watched_, WCONTINUED);
  EXPECT_EQ(told(1), 1u) << "that it goes on";
  ::kill(watched_, SIGURG);
  ::kill(other_, SIGSTOP);
  wait_for(other_, WUNTRACED);
  EXPECT_EQ(told(), 0u) << "of signals that do not stop, and of others";
}

TEST_F(IocHolds, TracersThatStopAreTold) {
  ASSERT_EQ(::ptrace(PTRACE_ATTACH, watched_, nullptr, nullptr), 0);
  wait_for(watched_, 0);
  EXPECT_EQ(told(2), 2u) << "the signal, and that it has stopped";
  ASSERT_EQ(::ptrace(PTRACE_DETACH, watched_, nullptr, nullptr), 0);
  told();
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, watched_, nullptr, nullptr), 0);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, watched_, nullptr, nullptr), 0);
  wait_for(watched_, 0);
  EXPECT_EQ(told(1), 1u) << "no signal is sent, but it stops";
}

}  // namespace
}  // namespace ioc_exporter::iocs
