// Facts of a process: its status, its threads, its user, and signs that it is an IOC.
#include <gtest/gtest.h>
#include <unistd.h>

#include "iocs/find/finder.h"
#include "iocs/find/process_signs.h"
#include "iocs/find/process_stat.h"
#include "iocs/health/health.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

const std::string kRest =
    " S 11 22 22 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 7 0 987654 1232896 3 18446744073709551615 "
    "94000 95000 140700 0 0 0 0 4096 65536 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ProcessStat, CommWithSpacesAndParentheses) {
  const auto stat = value_of(parse_process_stat("812 (a) (b c) )" + kRest));
  EXPECT_EQ(stat.comm, "a) (b c) ");
  EXPECT_EQ(stat.id, (IocId{812, 987654}));
  EXPECT_EQ(stat.state, 'S');
  EXPECT_EQ(stat.parent, 11);
  EXPECT_EQ(stat.threads, 7u);
  EXPECT_EQ(stat.vsize, 1232896u);
  EXPECT_EQ(stat.start_code, 94000u);
  EXPECT_EQ(stat.start_stack, 140700u);
  EXPECT_FALSE(stat.kernel_thread());
  EXPECT_FALSE(stat.dead());
}

TEST(ProcessStat, KernelThreadsAndZombies) {
  const std::string counts = " 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0\n";
  EXPECT_TRUE(
      value_of(parse_process_stat("2 (kthreadd) S 0 0 0 0 -1 2129984" + counts)).kernel_thread());
  EXPECT_TRUE(value_of(parse_process_stat("3 (x) Z 0 0 0 0 -1 0" + counts)).dead());
}

// pthread_exit(3) in main: the process is no zombie, though its main thread is.
TEST(ProcessStat, AProcessWhoseMainThreadHasEnded) {
  const std::string main_thread =
      "7 (x) Z 1 0 0 0 -1 4227084 0 0 0 0 3 4 0 0 20 0 5 0 100 0 0 0 0 0 0\n";
  auto stat = parse_process_stat(main_thread);
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->main_thread_ended());
  EXPECT_FALSE(stat->dead());
  const TemporaryFolder folder;
  const RootedFs fs(folder.path());
  EXPECT_FALSE(choose_thread(fs, *stat)) << "none of the others is there any more";

  const auto thread = [&](int tid, const std::string& rest) {
    const std::string task = "/proc/7/task/" + std::to_string(tid);
    folder.write(task + "/stat", std::to_string(tid) + " (y) " + rest);
    folder.link(task + "/exe", "/bin/x");
  };
  thread(9, "S 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 5000 12 0 94 95 140\n");
  ASSERT_TRUE(choose_thread(fs, *stat));
  EXPECT_EQ(stat->thread, 9);
  EXPECT_EQ(stat->id, (IocId{7, 100})) << "it is the same process";
  EXPECT_EQ(stat->comm, "x");
  EXPECT_EQ(stat->cpu_ticks, 7u);
  EXPECT_EQ(stat->threads, 5u);
  EXPECT_EQ(stat->vsize, 5000u);
  EXPECT_EQ(stat->resident_pages, 12u);
  EXPECT_EQ(stat->start_code, 94u);
  EXPECT_EQ(stat->start_stack, 140u);
  EXPECT_FALSE(stat->forked()) << "all threads are, by their flags";
  EXPECT_TRUE(stat->main_thread_ended());

  // The one that was chosen, as long as it lives.
  thread(8, "S 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 6000 12 0 94 95 140\n");
  stat = parse_process_stat(main_thread);
  EXPECT_TRUE(choose_thread(fs, *stat, 9));
  EXPECT_EQ(stat->thread, 9);
  thread(9, "Z 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 0 0 0 0 0 0\n");
  std::filesystem::remove(folder.path("/proc/7/task/9/exe"));
  stat = parse_process_stat(main_thread);
  EXPECT_TRUE(choose_thread(fs, *stat, 9));
  EXPECT_EQ(stat->thread, 8);
}

// Between the two, a main thread that ends has no memory and is no zombie yet. That is no exec.
TEST(ProcessStat, AMainThreadThatIsEnding) {
  const std::string start = " 1 0 0 0 -1 0 0 0 0 0 3 4 0 0 20 0 5 0 100 ";
  EXPECT_FALSE(
      value_of(parse_process_stat("7 (x) S" + start + "5000 9 0 94 95 140\n")).main_thread_ended());
  const auto now = value_of(parse_process_stat("7 (x) R" + start + "0 0 0 0 0 0\n"));
  EXPECT_TRUE(now.main_thread_ended());
  EXPECT_FALSE(now.dead());
}

TEST(ProcessStat, CutOrForeignTextIsNothing) {
  const std::string whole = "812 (x)" + kRest;
  EXPECT_TRUE(parse_process_stat(whole));
  for (std::size_t size = 0; size < 100; ++size)
    EXPECT_FALSE(parse_process_stat(whole.substr(0, size))) << size;
  EXPECT_FALSE(parse_process_stat("no parentheses"));
  EXPECT_FALSE(parse_process_stat(")(" + kRest));
}

TEST(ThreadClassOf, NamesOfBaseAndPvAccess) {
  const auto all_are = [](ThreadClass wanted, const std::vector<std::string>& names) {
    for (const std::string& name : names) EXPECT_EQ(thread_class_of(name), wanted) << name;
  };
  all_are(ThreadClass::scan, {"scan-0.1", "scan-10"});
  all_are(ThreadClass::callback, {"cbLow", "cbMedium", "cbHigh", "cbLow-0", "cbHigh-11"});
  all_are(ThreadClass::once, {"scanOnce"});
  all_are(ThreadClass::ca, {"CAS-client", "CAS-event", "CAS-TCP", "CAS-UDP", "CAS-beacon",
                            "CAC-TCP-recv", "CAC-UDP", "dbCaLink"});
  all_are(ThreadClass::pva, {"PVXTCP", "PVXUDP", "TCP-rx 127.0.0.", "TCP-acceptor", "UDP-rx"});
  all_are(ThreadClass::other, {"", "errlog", "taskwd", "save_restore", "scanner", "cb", "python"});
}

TEST(UserOf, IsTheRealUser) {
  EXPECT_EQ(user_of(RootedFs("/"), ::getpid()), ::getuid());
  TemporaryFolder folder;
  folder.write("/proc/7/status",
               "Name:\tUid:\t5\nUmask:\t0022\nUid:\t1001\t0\t0\t0\nGid:\t9\t0\t0\t0\n");
  const RootedFs fs(folder.path());
  EXPECT_EQ(user_of(fs, 7), 1001u);
  EXPECT_EQ(user_of(fs, 8), std::nullopt);
}

TEST(UserNames, ComeFromTheFileAndChangeWithIt) {
  TemporaryFolder folder;
  UserNames names{RootedFs(folder.path())};
  EXPECT_EQ(names.name_of(1001), "1001") << "no file";
  folder.write("/etc/passwd",
               "root:x:0:0:root:/root:/bin/sh\nioc:x:1001:9::/:/bin/sh\nalias:x:1001:9::/:/\n"
               "77:x:1002:1::/:/\n+ldap::::::\nshort\nbad:x:1003y:1::/:/\n");
  EXPECT_EQ(names.name_of(0), "root");
  EXPECT_EQ(names.name_of(1001), "ioc") << "the first of two names";
  EXPECT_EQ(names.name_of(1002), "1002") << "77 would pass for another user's number";
  EXPECT_EQ(names.name_of(1003), "1003");
  EXPECT_EQ(names.name_of(kNoUser), "");
  folder.write("/etc/passwd.new", "mallory:x:1001:9::/:/bin/sh\n");
  std::filesystem::rename(folder.path("/etc/passwd.new"), folder.path("/etc/passwd"));
  EXPECT_EQ(names.name_of(1001), "mallory");
}

TEST(ProcessSigns, IsReadFromLoadavg) {
  TemporaryFolder folder;
  folder.write("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
  const auto proc = Folder::open(RootedFs(folder.path()), "/proc");
  ASSERT_TRUE(proc);
  EXPECT_EQ(read_process_signs(*proc), (ProcessSigns{11206, 80}));
  folder.write("/proc/loadavg", "0.20 0.18 0.12\n");
  EXPECT_FALSE(read_process_signs(*proc));
}

TEST(ProcessSigns, PidsGoRound) {
  for (const pid_t pid : {11, 12}) EXPECT_TRUE(given_out(pid, {10, 1}, {12, 1})) << pid;
  for (const pid_t pid : {10, 13}) EXPECT_FALSE(given_out(pid, {10, 1}, {12, 1})) << pid;
  EXPECT_FALSE(given_out(10, {10, 1}, {10, 2}));
  for (const pid_t pid : {32767, 301}) EXPECT_TRUE(given_out(pid, {32700, 1}, {301, 1})) << pid;
  for (const pid_t pid : {302, 32700}) EXPECT_FALSE(given_out(pid, {32700, 1}, {301, 1})) << pid;
}

// Long after processes were found, only signs make the finder read again.
class FinderWhenSettled : public testing::Test {
 protected:
  FinderWhenSettled() {
    // The test programs are so alike that their sizes are the same.
    EXPECT_EQ(target_.command("load libm.so.6"), 1);
    poll(0);
    poll(11);
    poll(4);
    poll(4);
  }
  Changes poll(int after) { return value_of(finder_.poll(now_ += std::chrono::seconds(after))); }

  TargetProcess target_{TARGET_PLAIN, named("settled")};
  Finder finder_{RootedFs("/"), only_ours(FinderOptions().maps_interval)};
  Finder::Clock::time_point now_ = Finder::Clock::now();
};

TEST_F(FinderWhenSettled, LibraryLoadedLate) {
  target_.command(std::string("load ") + TARGET_LIB);
  EXPECT_EQ(poll(4).started.size(), 1u);
}

TEST_F(FinderWhenSettled, ExecIntoAnIocAndOnIntoTheSameIocAndItsEnd) {
  target_.command(std::string("exec ") + TARGET_IOC);
  EXPECT_EQ(poll(4).started.size(), 1u);
  poll(11);
  poll(4);
  EXPECT_TRUE(poll(4).empty());
  target_.command(std::string("exec ") + TARGET_IOC);
  const Changes changes = poll(1);
  EXPECT_EQ(changes.ended.size(), 1u);
  EXPECT_EQ(changes.started.size(), 1u);
  poll(11);
  poll(4);
  target_.command(std::string("exec ") + TARGET_PLAIN);
  const Changes away = poll(1);
  EXPECT_EQ(away.ended.size(), 1u);
  EXPECT_EQ(away.started.size(), 0u);
  target_.command(std::string("exec ") + TARGET_IOC);
  EXPECT_EQ(poll(4).started.size(), 1u);
  target_.stop();
  EXPECT_EQ(poll(1).ended.size(), 1u) << "at once";
}

TEST_F(FinderWhenSettled, NewProcessAtOnce) {
  TargetProcess other(TARGET_IOC, named("settled"));
  EXPECT_EQ(poll(1).started.size(), 1u);
}

TEST_F(FinderWhenSettled, EverySecondPollRestsUntilSomethingStarts) {
  // Others' processes come and go on the host: it may take a while until nothing does for a second.
  for (int i = 0; i < 200 && !finder_.was_idle(); ++i) poll(1);
  if (!finder_.was_idle()) GTEST_SKIP() << "this host never rests";
  poll(1);
  EXPECT_FALSE(finder_.was_idle()) << "twice in a row";
}

}  // namespace
}  // namespace ioc_exporter::iocs
