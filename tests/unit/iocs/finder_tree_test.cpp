// The finder on a /proc that the test makes: what is read when, and what odd trees do.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "iocs/find/finder.h"
#include "proc_tree.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::seconds;

class FinderOnTree : public testing::Test, public ProcTree {
 protected:
  FinderOnTree() : finder_(RootedFs(folder_.path()), options()) {}

  static FinderOptions options() {
    FinderOptions options;
    options.recheck_interval = seconds(30);
    return options;
  }
  Changes poll(int after = 1) { return value_of(finder_.poll(now_ += seconds(after))); }

  Finder finder_;
  Finder::Clock::time_point now_ = Finder::Clock::now();
};

TEST_F(FinderOnTree, StartsAndEnds) {
  put({.pid = 7});
  put({.pid = 8, .executable = TARGET_PLAIN});
  Changes changes = poll();
  const Ioc& ioc = only(changes.started);
  EXPECT_EQ(ioc.id, (IocId{7, 100}));
  EXPECT_EQ(ioc.name, "discovery_target_ioc");
  EXPECT_EQ(ioc.executable, TARGET_IOC);
  EXPECT_EQ(ioc.base_version, "3.15.9");
  EXPECT_EQ(ioc.net_namespace, 4026531840u);
  EXPECT_DOUBLE_EQ(ioc.start_time_seconds, 1700000001.0);
  ASSERT_TRUE(ioc.target);
  EXPECT_TRUE(std::filesystem::equivalent(ioc.target->file->attach_path(), TARGET_IOC));
  EXPECT_EQ(ioc.target->display_path, TARGET_IOC);
  EXPECT_TRUE(poll().empty());
  remove(7);
  changes = poll();
  EXPECT_EQ(only(changes.ended).name, "discovery_target_ioc");
  EXPECT_TRUE(finder_.iocs().empty());
}

TEST_F(FinderOnTree, ListenersOfAnotherNamespaceAreReadNowAndThen) {
  const auto listens = [&](const std::string& inode) {
    folder_.write("/proc/7/net/tcp",
                  "   0: 0100007F:13C8 00000000:0000 0A 0:0 00:0 0 0 0 " + inode + " 1\n");
  };
  const auto seen = [&](int after) {
    poll(after);
    return only(finder_.unclaimed()).inode;
  };
  put({.pid = 7});
  listens("50");
  EXPECT_EQ(seen(1), 50u);
  listens("51");
  EXPECT_EQ(seen(1), 51u) << "the IOC is young";
  EXPECT_EQ(seen(20), 51u);
  listens("52");
  EXPECT_EQ(seen(1), 51u);
  EXPECT_EQ(seen(4), 52u);
  put({.pid = 8});
  listens("53");
  EXPECT_EQ(seen(1), 53u) << "an IOC came";
}

TEST_F(FinderOnTree, MapsAreReadForAReasonOnly) {
  for (int pid = 10; pid < 110; ++pid) put({.pid = pid, .executable = TARGET_PLAIN});
  poll();
  EXPECT_EQ(finder_.costs().maps_read, 100u);
  EXPECT_EQ(finder_.costs().files_read, 1u) << "one file, read once";
  for (int i = 0; i < 10; ++i) poll(1);
  EXPECT_EQ(finder_.costs().maps_read, 100u);
  put({.pid = 10, .vsize = 2000000, .executable = TARGET_PLAIN});
  poll(1);
  EXPECT_EQ(finder_.costs().maps_read, 101u);
  put({.pid = 10, .vsize = 3000000, .executable = TARGET_PLAIN});
  poll(1);
  EXPECT_EQ(finder_.costs().maps_read, 101u) << "just looked at";
  poll(1);
  EXPECT_EQ(finder_.costs().maps_read, 102u);
  // Within 5/4 of 30 s all are checked again, but never all at once.
  std::uint64_t before = finder_.costs().maps_read;
  for (int i = 0; i < 30; ++i) {
    poll(1);
    EXPECT_LT(finder_.costs().maps_read - before, 40u);
    before = finder_.costs().maps_read;
  }
  EXPECT_GE(before, 202u);
  EXPECT_LE(before, 302u);
}

TEST_F(FinderOnTree, LateLibraryIsFound) {
  put({.pid = 7, .executable = TARGET_PLAIN});
  EXPECT_TRUE(poll().empty());
  put({.pid = 7, .vsize = 1500000, .executable = TARGET_PLAIN});
  folder_.write("/proc/7/maps", std::string("400000-500000 r-xp 00001000 fe:00 5 ") + TARGET_PLAIN +
                                    "\n7f0000000000-7f0000010000 r-xp 00000000 fe:00 6 " +
                                    TARGET_LIB + "\n");
  folder_.link("/proc/7/map_files/7f0000000000-7f0000010000", TARGET_LIB);
  const Changes changes = poll(2);
  ASSERT_EQ(changes.started.size(), 1u);
  EXPECT_EQ(changes.started[0].target->display_path, TARGET_LIB);
  EXPECT_EQ(changes.started[0].executable, TARGET_PLAIN);
  EXPECT_EQ(changes.started[0].base_version, "7.0.8.1");
}

TEST_F(FinderOnTree, ReusedPidIsAnotherProcess) {
  put({.pid = 7});
  poll();
  put({.pid = 7, .start = 500});
  const Changes changes = poll();
  ASSERT_EQ(changes.ended.size(), 1u);
  EXPECT_EQ(only(changes.started).id.start_ticks, 500u);
  EXPECT_EQ(only(changes.started).name, "discovery_target_ioc") << "the name was free again";
}

TEST_F(FinderOnTree, ExecIntoSomethingElseAndIntoAnotherIoc) {
  put({.pid = 7});
  poll();
  put({.pid = 7, .stack = 141});
  Changes changes = poll();
  ASSERT_EQ(changes.ended.size(), 1u);
  ASSERT_EQ(changes.started.size(), 1u);
  put({.pid = 7, .stack = 142, .executable = TARGET_PLAIN});
  changes = poll();
  EXPECT_EQ(changes.ended.size(), 1u);
  EXPECT_TRUE(changes.started.empty());
}

TEST_F(FinderOnTree, AForkIsAnIocOnlyWithThreadsOfItsOwn) {
  put({.pid = 7});
  poll();
  put({.pid = 9, .parent = 7, .threads = 1, .start = 200, .forked = true});
  EXPECT_TRUE(poll().empty());
  put({.pid = 9, .parent = 7, .threads = 6, .start = 200, .forked = true, .thread_names = "x y z"});
  EXPECT_TRUE(poll(3).empty()) << "threads, but not an IOC's";
  // The IOC is gone, and what it forked is not.
  remove(7);
  put({.pid = 9, .parent = 1, .threads = 1, .start = 200, .forked = true});
  EXPECT_EQ(poll(3).ended.size(), 1u);
  EXPECT_TRUE(poll(3).empty());
  // One that goes on to run a database of its own.
  put({.pid = 11, .parent = 9, .threads = 1, .start = 300, .forked = true});
  EXPECT_TRUE(poll(3).empty());
  put({.pid = 11,
       .parent = 9,
       .threads = 7,
       .start = 300,
       .forked = true,
       .thread_names = "main scanOnce cbLow cbHigh"});
  EXPECT_EQ(poll(3).started.size(), 1u);
}

TEST_F(FinderOnTree, AForkThatExecsIsJudgedAnew) {
  put({.pid = 9, .threads = 1, .forked = true});
  EXPECT_TRUE(poll().empty());
  put({.pid = 9, .threads = 1, .stack = 141});
  EXPECT_EQ(poll().started.size(), 1u);
}

TEST_F(FinderOnTree, AnIocGoesOnWhenItsMainThreadEnds) {
  put({.pid = 7, .environment = "IOC=ps"});
  EXPECT_EQ(poll().started.size(), 1u);
  const std::uint64_t looks = finder_.costs().maps_read;
  put({.pid = 7, .environment = "IOC=ps", .main_thread_ended = 9});
  Changes changes = poll();
  EXPECT_TRUE(only(changes.changed).main_thread_ended);
  EXPECT_TRUE(changes.ended.empty());
  EXPECT_TRUE(changes.started.empty());
  EXPECT_EQ(finder_.costs().maps_read, looks) << "it maps what it did";
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(poll().empty());
  EXPECT_GT(finder_.costs().maps_read, looks);
  put({.pid = 7, .stack = 141, .environment = "IOC=rf", .main_thread_ended = 9});
  changes = poll(60);
  EXPECT_EQ(changes.ended.size(), 1u) << "one of its threads has execed";
  EXPECT_EQ(only(changes.started).name, "rf");
  end_thread(7, 9);
  EXPECT_EQ(poll().ended.size(), 1u) << "none lives";
}

TEST_F(FinderOnTree, EqualNamesOldestFirst) {
  put({.pid = 9, .start = 200, .environment = "IOC=ps"});
  put({.pid = 12, .start = 100, .environment = "IOC=ps"});
  const Changes changes = poll();
  ASSERT_EQ(changes.started.size(), 2u);
  EXPECT_EQ(changes.started[0].name, "ps");
  EXPECT_EQ(changes.started[0].id.pid, 12);
  EXPECT_EQ(changes.started[1].name, "ps-9");
}

TEST_F(FinderOnTree, FilteredIocsAreNotToldAndHoldNoName) {
  FinderOptions options;
  options.filter = {{}, *Pattern::compile("ps")};
  Finder finder(RootedFs(folder_.path()), std::move(options));
  put({.pid = 9, .environment = "IOC=ps"});
  put({.pid = 10, .environment = "IOC=rf"});
  EXPECT_EQ(only(value_of(finder.poll(now_)).started).name, "rf");
  remove(9);
  EXPECT_TRUE(finder.poll(now_ + seconds(1))->empty());
}

TEST_F(FinderOnTree, HalfGoneProcessesAreNoErrors) {
  folder_.write("/proc/20/stat", "20 (x) S cut");
  folder_.write("/proc/21/nothing", "");
  put({.pid = 22});
  std::filesystem::remove(folder_.path("/proc/22/maps"));
  put({.pid = 23});
  folder_.write("/proc/23/maps", "");
  put({.pid = 24});
  std::filesystem::remove(folder_.path("/proc/24/exe"));
  EXPECT_TRUE(poll().empty());
  put({.pid = 22});
  EXPECT_EQ(poll().started.size(), 1u) << "looked at until it could be";
  std::filesystem::remove_all(folder_.path("/proc"));
  EXPECT_THAT(error_of(finder_.poll(now_ + seconds(99))),
              testing::HasSubstr("/proc: No such file"));
}

TEST_F(FinderOnTree, WithoutMapFilesThePathIsTakenIfItIsTheSameFile) {
  put({.pid = 7});
  std::filesystem::remove_all(folder_.path("/proc/7/map_files"));
  EXPECT_TRUE(poll().empty()) << "inode 5 of the maps is not the file's";
  struct stat status;
  ASSERT_EQ(::stat(TARGET_IOC, &status), 0);
  folder_.write("/proc/7/maps", "400000-500000 r-xp 00001000 fe:00 " +
                                    std::to_string(status.st_ino) + " " + TARGET_IOC + "\n");
  EXPECT_EQ(only(poll(60).started).target->file->id().inode, status.st_ino);
}

// A library that could not be reached once: its process is looked at again soon, then less often.
TEST_F(FinderOnTree, UnreadableProcessesAreReadAgain) {
  put({.pid = 7});
  const std::string link = "/proc/7/map_files/400000-500000";
  std::filesystem::remove(folder_.path(link));
  EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(finder_.costs().maps_read, 2u);
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(finder_.costs().maps_read, 2u);
  folder_.link(link, TARGET_IOC);
  EXPECT_EQ(poll().started.size(), 1u);
}

// By its user's account of readings, for example.
TEST_F(FinderOnTree, AnIocWhoseNameCannotBeReadNowIsFoundLater) {
  class Reader : public ProcessReader {
   public:
    using ProcessReader::ProcessReader;
    Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit) override {
      if (path.ends_with("/environ") && failures > 0) {
        --failures;
        return error_from_errno(EAGAIN, "read " + path);
      }
      return ProcessReader::text(pid, path, limit);
    }
    int failures = 2;
  };
  Finder finder(RootedFs(folder_.path()), options(),
                std::make_shared<Reader>(RootedFs(folder_.path())));
  put({.pid = 7, .environment = "IOC=magnets"});
  EXPECT_TRUE(finder.poll(now_)->empty());
  EXPECT_TRUE(finder.poll(now_ + seconds(1))->empty());
  EXPECT_EQ(only(value_of(finder.poll(now_ + seconds(2))).started).name, "magnets");
}

}  // namespace
}  // namespace ioc_exporter::iocs
