#include "base/rooted_fs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace ioc_exporter {
namespace {

TEST(Folder, ReadsFilesBelowIt) {
  const auto folder = Folder::open(RootedFs("/"), "/proc/self");
  ASSERT_TRUE(folder);
  char buffer[64];
  const auto comm = folder->read("comm", buffer);
  ASSERT_TRUE(comm);
  EXPECT_EQ(*comm, "unit_base\n");
  EXPECT_FALSE(folder->read("no such file", buffer));
  char small[4];
  EXPECT_EQ(folder->read("comm", small), "unit");
}

TEST(Folder, ListsNumbersAnewEachTime) {
  const auto folder = Folder::open(RootedFs("/"), "/proc");
  ASSERT_TRUE(folder);
  const auto has = [&](pid_t pid) { return std::ranges::count(folder->numbers(), pid) == 1; };
  EXPECT_TRUE(has(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(has(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(has(child));
}

TEST(Folder, OfAnEndedProcessGivesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto folder = Folder::open(RootedFs("/"), "/proc/" + std::to_string(child) + "/task");
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->numbers(), std::vector<int>{child});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  char buffer[64];
  EXPECT_FALSE(folder->read((std::to_string(child) + "/comm").c_str(), buffer));
  EXPECT_TRUE(folder->numbers().empty());
}

TEST(Folder, ErrorsNameThePath) {
  const auto folder = Folder::open(RootedFs("/"), "/proc/self/no such folder");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message(), "open /proc/self/no such folder: No such file or directory");
}

}  // namespace
}  // namespace ioc_exporter
