// Files below a root, folders, owned files, and files that are the same.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/futex.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/owned_file.h"
#include "base/rooted_fs.h"
#include "base/same_inode.h"
#include "base/unique_fd.h"
#include "base/yaml_reader.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

class RegularFile : public ::testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(RegularFile, IsReadUpToTheLimit) {
  std::ofstream(folder_ + "/file") << "0123456789";
  const RootedFs fs(folder_);
  EXPECT_EQ(*fs.read_regular("/file", 100), "0123456789");
  EXPECT_EQ(*fs.read_regular("/file", 4), "0123");
  EXPECT_EQ(*read_text(folder_ + "/file"), "0123456789");
}

// Nobody ever writes to the FIFO: who waits for that waits for ever. Nor is it opened: its writer
// would go on, and a device might do something.
TEST_F(RegularFile, AnythingElseIsRefusedAtOnceAndNotEvenOpened) {
  const std::string fifo = folder_ + "/fifo", why = ": not a regular file";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), fifo.c_str(), IN_OPEN), 0);
  const RootedFs fs(folder_);
  for (const std::string name : {"/fifo", "/"})
    EXPECT_EQ(error_of(fs.read_regular(name, 100)), "open " + folder_ + name + why);
  EXPECT_EQ(error_of(read_text(fifo)), "open " + fifo + why);
  EXPECT_FALSE(fs.open_regular("/fifo"));
  char event[256];
  EXPECT_LT(::read(watch.get(), event, sizeof event), 0);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(Folder, ReadsFilesBelowIt) {
  const auto folder = value_of(Folder::open(RootedFs("/"), "/proc/self"));
  char buffer[64];
  EXPECT_EQ(folder.read("comm", buffer), "unit_base\n");
  EXPECT_FALSE(folder.read("no such file", buffer));
  char small[4];
  EXPECT_EQ(folder.read("comm", small), "unit");
}

TEST(Folder, ListsNumbersAnewEachTimeAndNoneOfAnEndedProcess) {
  const auto all = value_of(Folder::open(RootedFs("/"), "/proc"));
  const auto has = [&](pid_t pid) { return std::ranges::count(all.numbers(), pid) == 1; };
  EXPECT_TRUE(has(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(has(child));
  const auto folder =
      value_of(Folder::open(RootedFs("/"), "/proc/" + std::to_string(child) + "/task"));
  EXPECT_EQ(folder.numbers(), std::vector<int>{child});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(has(child));
  char buffer[64];
  EXPECT_FALSE(folder.read((std::to_string(child) + "/comm").c_str(), buffer));
  EXPECT_TRUE(folder.numbers().empty());
}

TEST(Folder, ErrorsNameThePath) {
  EXPECT_EQ(error_of(Folder::open(RootedFs("/"), "/proc/self/no such folder")),
            "open /proc/self/no such folder: No such file or directory");
}

// Links, and files of others: ChannelsFileTest.NothingThatOthersPutThere.
TEST(OwnedFile, IsInNoFolderThatOthersMayWriteTo) {
  const TemporaryFolder folder;
  EXPECT_TRUE(open_owned_folder(folder.path()));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  EXPECT_THAT(error_of(open_owned_folder(folder.path())),
              testing::HasSubstr("others than its owner"));
}

constexpr std::uint64_t kSize = 3 * 4096;

UniqueFd memory(const char* name) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(fd.get(), kSize), 0);
  return fd;
}

UniqueFd again(const UniqueFd& file) {
  return UniqueFd(
      ::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
}

TEST(SameInode, IsFoundAmongFilesOfTheSameContent) {
  const UniqueFd file = memory("a"), copy = memory("b"), other = memory("c");
  const UniqueFd face = again(file);
  for (const std::uint64_t offset : {0u, 4097u, 12287u}) {
    const std::array files{copy.get(), face.get(), other.get()};
    EXPECT_EQ(value_of(find_same_inode(file.get(), files, offset)), 1u);
  }
  const std::array files{copy.get(), other.get()};
  EXPECT_FALSE(value_of(find_same_inode(file.get(), files, 100)));
}

// A thread that has just started is woken for no reason now and then.
TEST(SameInode, IsTheSameAnswerEachTime) {
  const UniqueFd file = memory("a"), copy = memory("b"), face = again(file);
  const std::array files{copy.get(), face.get()};
  const std::array others{copy.get()};
  for (int i = 0; i < 1000; ++i) {
    const auto found = find_same_inode(file.get(), files, 0);
    const auto none = find_same_inode(file.get(), others, 0);
    ASSERT_TRUE(found && none);
    ASSERT_EQ(*found, 1u);
    ASSERT_FALSE(*none);
  }
}

// Another process may wait on a page of any file that it can read.
TEST(SameInode, AnotherSleeperIsNotTakenForAMatch) {
  const UniqueFd file = memory("a"), copy = memory("b");
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, copy.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  std::atomic<bool> over = false;
  std::thread sleeper([&] {
    const timespec tick{0, 1'000'000};
    while (!over) ::syscall(SYS_futex, page, FUTEX_WAIT, 0, &tick, nullptr, 0);
  });
  const std::array files{copy.get()};
  for (int i = 0; i < 5; ++i) {
    const auto found = find_same_inode(file.get(), files, 0);
    EXPECT_TRUE(found && !*found);
  }
  over = true;
  sleeper.join();
  ::munmap(page, 4096);
}

TEST(SameInode, FilesThatCannotBeMappedAreNoMatchAndDoNotBlock) {
  const UniqueFd file = memory("a"), face = again(file);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const std::array files{reader.get(), -1, face.get()};
  EXPECT_EQ(value_of(find_same_inode(file.get(), files, 0)), 2u);
  EXPECT_FALSE(find_same_inode(reader.get(), files, 0));
}

TEST(SameInode, BehindTheEndOfAFileThatWasCutIsAnError) {
  const UniqueFd file = memory("a"), face = again(file);
  const std::array files{face.get()};
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  EXPECT_FALSE(find_same_inode(file.get(), files, 8192));
}

}  // namespace
}  // namespace ioc_exporter
