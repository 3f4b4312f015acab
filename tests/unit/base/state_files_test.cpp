#include "base/state_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace ioc_exporter {
namespace {

constexpr StateFiles::Names kNames = {"some.1", "some.2"};

class StateFilesTest : public testing::Test {
 protected:
  StateFilesTest() {
    std::string name = testing::TempDir() + "state.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~StateFilesTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(StateFilesTest, OneProcessHasThemAtATime) {
  const auto files = StateFiles::open(folder_, kNames);
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(StateFiles::open(folder_, kNames).error().code, std::errc::device_or_resource_busy);
  struct stat status {};
  ASSERT_EQ(::stat(path("some.1").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(StateFilesTest, NothingThatOthersPutThere) {
  std::filesystem::create_symlink("/etc/passwd", path("some.1"));
  EXPECT_FALSE(StateFiles::open(folder_, kNames)) << "a link";
  std::filesystem::remove(path("some.1"));
  std::ofstream(path("anothers")) << "his";
  std::filesystem::create_hard_link(path("anothers"), path("some.1"));
  EXPECT_FALSE(StateFiles::open(folder_, kNames)) << "another name of a file";
  std::filesystem::remove(path("some.1"));
  std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  const auto open = StateFiles::open(folder_, kNames);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message().find("others than its owner"), std::string::npos);
}

}  // namespace
}  // namespace ioc_exporter
