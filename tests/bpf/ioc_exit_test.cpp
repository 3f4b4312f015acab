// Processes that are stopped or traced, as the kernel reports them (bpf/iocs/holds.bpf.h), and what
// their threads used that ended.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (object_->hold_changes() - told_ < at_least && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return told();
  }

  CpuByClass cpu(std::uint32_t pid) {
    const auto exit = value_of(object_->exits().lookup(pid));
    CpuByClass cpu{};
    if (exit) std::ranges::copy(exit->cpu_ns, cpu.begin());
    return cpu;
  }
  // What a thread of that name used by its own clock, which has ended then.
  static std::uint64_t run_thread(const char* name) {
    std::uint64_t used = 0;
    std::thread([&] {
      ::prctl(PR_SET_NAME, name);
      while (used < 3'000'000) {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        used = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
      }
    }).join();
    return used;
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

// By the thread's last name; the first thread has a class of its own.
TEST_F(IocHolds, TimeOfThreadsThatEndIsTold) {
  const auto self = static_cast<std::uint32_t>(::getpid());
  ASSERT_TRUE(object_->exits().update(self, {}));
  CpuByClass before{};
  for (const auto& [name, thread_class] : {std::pair{"CAS-client", ThreadClass::ca},
                                           {"scan-0.1", ThreadClass::scan},
                                           {"scan", ThreadClass::other},
                                           {"cbMedium-3", ThreadClass::callback},
                                           {"scanOnce", ThreadClass::once},
                                           {"PVXTCP", ThreadClass::pva},
                                           {"motorSimThread", ThreadClass::other},
                                           {"dbCaLink", ThreadClass::ca}}) {
    SCOPED_TRACE(name);
    const std::uint64_t used = run_thread(name);
    const auto i = static_cast<std::size_t>(thread_class);
    CpuByClass now = cpu(self);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (now[i] < before[i] + used && std::chrono::steady_clock::now() < end) now = cpu(self);
    EXPECT_GE(now[i], before[i] + used);
    before[i] = now[i];
    EXPECT_EQ(now, before) << "and nothing else";
  }
  EXPECT_EQ(cpu(static_cast<std::uint32_t>(watched_)), CpuByClass{});
  EXPECT_TRUE(object_->exits().erase(self));
}

}  // namespace
}  // namespace ioc_exporter::iocs
