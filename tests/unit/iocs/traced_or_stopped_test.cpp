#include "iocs/find/process_signs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iocs/find/finder.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

std::string status(const std::string& name, const std::string& state, int tracer) {
  return "Name:\t" + name + "\nUmask:\t0022\nState:\t" + state + "\nTgid:\t7\nPid:\t7\nPPid:\t1\n" +
         "TracerPid:\t" + std::to_string(tracer) + "\nUid:\t0\t0\t0\t0\n";
}

class WhyHeld : public testing::Test {
 protected:
  std::string why(const std::string& text) {
    folder_.write("/proc/7/status", text);
    auto held = why_traced_or_stopped(RootedFs(folder_.path()), "/proc/7");
    EXPECT_TRUE(held) << held.error().message();
    return held ? *held : "error";
  }
  TemporaryFolder folder_;
};

TEST_F(WhyHeld, BySignalsAndTracers) {
  folder_.write("/proc/4711/comm", "gdb\n");
  EXPECT_EQ(why(status("ioc", "S (sleeping)", 0)), "");
  EXPECT_EQ(why(status("ioc", "R (running)", 0)), "");
  EXPECT_EQ(why(status("ioc", "T (stopped)", 0)), "stopped by a signal");
  EXPECT_EQ(why(status("ioc", "S (sleeping)", 4711)), "traced by gdb (pid 4711)");
  EXPECT_EQ(why(status("ioc", "t (tracing stop)", 4711)), "traced by gdb (pid 4711)");
  EXPECT_EQ(why(status("ioc", "t (tracing stop)", 4712)), "traced by pid 4712");
  // As the kernel writes a name with a newline in it.
  EXPECT_EQ(why(status("x\\nState:\\tT", "S (sleeping)", 0)), "");
}

TEST_F(WhyHeld, ErrorsNameTheFile) {
  const RootedFs fs(folder_.path());
  folder_.write("/proc/7/status", "Name:\tioc\n");
  EXPECT_EQ(error_of(why_traced_or_stopped(fs, "/proc/7")),
            "read /proc/7/status: not in the form of proc(5)");
  EXPECT_FALSE(why_traced_or_stopped(fs, "/proc/8"));
  folder_.write("/proc/7/status", status("ioc", "Z (zombie)", 0));
  const auto ended = why_traced_or_stopped(fs, "/proc/7");
  ASSERT_FALSE(ended) << "the other threads may be stopped";
  EXPECT_EQ(ended.error().message(), "read /proc/7/status: the thread has ended");
}

// The finder on a real process.
class FinderOfHeld : public testing::Test {
 protected:
  void wait_for_state(char wanted) {
    for (int i = 0; i < 6000; ++i) {
      if (value_of(read_process_stat(RootedFs("/"), target_.pid())).state == wanted) return;
      ::usleep(10'000);
    }
    FAIL() << "not in state " << wanted;
  }
  std::string held_after_poll(std::size_t changes, Finder::Clock::duration later = {}) {
    const auto seen = finder_.poll(began_ + later);
    EXPECT_TRUE(seen);
    EXPECT_EQ(seen->changed.size(), changes);
    return finder_.iocs().at(0).traced_or_stopped;
  }

  TargetProcess target_{TARGET_IOC, named("held")};
  Finder finder_{RootedFs("/"), only_ours(FinderOptions().maps_interval)};
  const Finder::Clock::time_point began_ = Finder::Clock::now();
};

TEST_F(FinderOfHeld, StoppedAndContinued) {
  EXPECT_EQ(held_after_poll(0), "");
  ::kill(target_.pid(), SIGSTOP);
  wait_for_state('T');
  EXPECT_EQ(held_after_poll(1), "stopped by a signal");
  EXPECT_EQ(held_after_poll(0), "stopped by a signal");
  ::kill(target_.pid(), SIGCONT);
  wait_for_state('S');
  EXPECT_EQ(held_after_poll(1), "");
}

// Of one that is not young any more. Told times, not waited for.
TEST_F(FinderOfHeld, AnOldOneIsAskedEachSecondAndAHalf) {
  using std::chrono::milliseconds;
  EXPECT_EQ(held_after_poll(0), "");
  EXPECT_EQ(held_after_poll(0, milliseconds(20'000)), "");
  ::kill(target_.pid(), SIGSTOP);
  wait_for_state('T');
  EXPECT_EQ(held_after_poll(0, milliseconds(21'000)), "");
  EXPECT_EQ(held_after_poll(1, milliseconds(22'600)), "stopped by a signal");
  ::kill(target_.pid(), SIGCONT);
}

TEST_F(FinderOfHeld, TracedThoughItRuns) {
  if (::ptrace(PTRACE_SEIZE, target_.pid(), nullptr, nullptr) != 0)
    GTEST_SKIP() << "may not trace a child";
  const std::string held = held_after_poll(0);
  EXPECT_EQ(held.find("traced by unit_iocs (pid "), 0u) << held;
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, target_.pid(), nullptr, nullptr), 0);
  int how = 0;
  ASSERT_EQ(::waitpid(target_.pid(), &how, __WALL), target_.pid());
  ASSERT_EQ(::ptrace(PTRACE_DETACH, target_.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(held_after_poll(1), "");
}

}  // namespace
}  // namespace ioc_exporter::iocs
