#include "iocs/find/process_signs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iocs/find/finder.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

TEST(ProcessSigns, IsReadFromLoadavg) {
  TemporaryFolder folder;
  folder.write("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
  const auto proc = Folder::open(RootedFs(folder.path()), "/proc");
  ASSERT_TRUE(proc);
  EXPECT_EQ(read_process_signs(*proc), (ProcessSigns{11206, 80}));
  folder.write("/proc/loadavg", "0.20 0.18 0.12\n");
  EXPECT_FALSE(read_process_signs(*proc));
}

TEST(ProcessSigns, ChangesWithAProcess) {
  const auto proc = Folder::open(RootedFs("/"), "/proc");
  ASSERT_TRUE(proc);
  const auto before = read_process_signs(*proc);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const auto after = read_process_signs(*proc);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(before && after);
  EXPECT_NE(*before, *after);
  EXPECT_TRUE(given_out(child, *before, *after));
  EXPECT_FALSE(given_out(before->last_pid, *before, *after));
}

TEST(ProcessSigns, PidsGoRound) {
  EXPECT_TRUE(given_out(11, {10, 1}, {12, 1}));
  EXPECT_TRUE(given_out(12, {10, 1}, {12, 1}));
  EXPECT_FALSE(given_out(10, {10, 1}, {12, 1}));
  EXPECT_FALSE(given_out(13, {10, 1}, {12, 1}));
  EXPECT_FALSE(given_out(10, {10, 1}, {10, 2}));
  EXPECT_TRUE(given_out(32767, {32700, 1}, {301, 1}));
  EXPECT_TRUE(given_out(301, {32700, 1}, {301, 1}));
  EXPECT_FALSE(given_out(302, {32700, 1}, {301, 1}));
  EXPECT_FALSE(given_out(32700, {32700, 1}, {301, 1}));
}

TEST(Glance, MemoryOfAProcessThroughExecAndEnd) {
  TargetProcess target(TARGET_IOC, {"IOC=glance"});
  const RootedFs host("/");
  const auto proc = Folder::open(host, "/proc");
  ASSERT_TRUE(proc);
  const std::string folder = "/proc/" + std::to_string(target.pid());
  const KeptFile first = KeptFile::open(host, folder + "/pagemap");
  ASSERT_TRUE(first.is_open());
  EXPECT_TRUE(first.has_memory());
  const auto sizes = read_memory_sizes(*proc, target.pid(), target.pid());
  ASSERT_TRUE(sizes);
  EXPECT_EQ(read_memory_sizes(*proc, target.pid(), target.pid()), sizes);
  EXPECT_GT(sizes->all, sizes->text);

  target.command(std::string("load ") + TARGET_LIB);
  EXPECT_NE(read_memory_sizes(*proc, target.pid(), target.pid()), sizes) << "it loaded a library";
  EXPECT_TRUE(first.has_memory());
  target.command(std::string("exec ") + TARGET_IOC);
  EXPECT_FALSE(first.has_memory()) << "what it had before the exec";
  const KeptFile second = KeptFile::open(host, folder + "/pagemap");
  target.stop();
  EXPECT_FALSE(second.has_memory());
  EXPECT_FALSE(read_memory_sizes(*proc, target.pid(), target.pid()));
}

// Long after processes were found, only signs make the finder read again.
class FinderWhenSettled : public testing::Test {
 protected:
  FinderWhenSettled()
      : target_(TARGET_PLAIN, {"IOC=settled-" + std::to_string(::getpid())}),
        finder_(RootedFs("/"), options()) {
    // The test programs are so alike that their sizes are the same.
    EXPECT_EQ(target_.command("load libm.so.6"), 1);
    poll(0);
    poll(11);
    poll(4);
    poll(4);
  }
  static FinderOptions options() {
    FinderOptions options;
    options.filter.include = *Pattern::compile("settled-" + std::to_string(::getpid()));
    return options;
  }
  Changes poll(int after) {
    auto changes = finder_.poll(now_ += std::chrono::seconds(after));
    EXPECT_TRUE(changes);
    return std::move(*changes);
  }

  TargetProcess target_;
  Finder finder_;
  Finder::Clock::time_point now_ = Finder::Clock::now();
};

TEST_F(FinderWhenSettled, LibraryLoadedLate) {
  target_.command(std::string("load ") + TARGET_LIB);
  EXPECT_EQ(poll(4).started.size(), 1u);
}

TEST_F(FinderWhenSettled, ExecIntoAnIocAndOnIntoTheSameIoc) {
  target_.command(std::string("exec ") + TARGET_IOC);
  EXPECT_EQ(poll(4).started.size(), 1u);
  poll(11);
  poll(4);
  EXPECT_TRUE(poll(4).empty());
  target_.command(std::string("exec ") + TARGET_IOC);
  const Changes changes = poll(1);
  EXPECT_EQ(changes.ended.size(), 1u);
  EXPECT_EQ(changes.started.size(), 1u);
}

TEST_F(FinderWhenSettled, EndOfAnIocAtOnce) {
  target_.command(std::string("exec ") + TARGET_IOC);
  poll(4);
  poll(11);
  poll(4);
  target_.stop();
  EXPECT_EQ(poll(1).ended.size(), 1u);
}

TEST_F(FinderWhenSettled, NewProcessAtOnce) {
  TargetProcess other(TARGET_IOC, {"IOC=settled-" + std::to_string(::getpid())});
  EXPECT_EQ(poll(1).started.size(), 1u);
}

TEST_F(FinderWhenSettled, EverySecondPollRestsUntilSomethingStarts) {
  // Others' processes come and go on the host: it may take a while until nothing does for a second.
  for (int i = 0; i < 200 && !finder_.rested(); ++i) poll(1);
  if (!finder_.rested()) GTEST_SKIP() << "this host never rests";
  poll(1);
  EXPECT_FALSE(finder_.rested()) << "twice in a row";
}

}  // namespace
}  // namespace ioc_exporter::iocs
