#include "base/rooted_fs.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/yaml_reader.h"

namespace ioc_exporter {
namespace {

class RegularFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rooted_fs.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(RegularFile, IsReadUpToTheLimit) {
  std::ofstream(folder_ + "/file") << "0123456789";
  const RootedFs fs(folder_);
  EXPECT_EQ(*fs.read_regular("/file", 100), "0123456789");
  EXPECT_EQ(*fs.read_regular("/file", 4), "0123");
  EXPECT_EQ(*read_text(folder_ + "/file"), "0123456789");
}

// Nobody ever writes to the FIFO: who waits for that waits for ever.
TEST_F(RegularFile, AnythingElseIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  const RootedFs fs(folder_);
  for (const std::string name : {"/fifo", "/"}) {
    const auto text = fs.read_regular(name, 100);
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().message(), "open " + folder_ + name + ": not a regular file");
  }
  const auto text = read_text(folder_ + "/fifo");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(), "open " + folder_ + "/fifo: not a regular file");
}

// Its writer would go on, and a device might do something.
TEST_F(RegularFile, AnythingElseIsNotEvenOpened) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), fifo.c_str(), IN_OPEN), 0);
  EXPECT_FALSE(RootedFs(folder_).open_regular("/fifo"));
  EXPECT_FALSE(RootedFs(folder_).read_regular("/fifo", 100));
  char event[256];
  EXPECT_LT(::read(watch.get(), event, sizeof event), 0);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(RegularFile, ThatIsMissingIsAnError) {
  const auto text = read_text(folder_ + "/none");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(), "read " + folder_ + "/none: No such file or directory");
}

}  // namespace
}  // namespace ioc_exporter
