#include "base/rooted_fs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
    EXPECT_EQ(text.error().message(), "read " + folder_ + name + ": not a regular file");
  }
  const auto text = read_text(folder_ + "/fifo");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(), "read " + folder_ + "/fifo: not a regular file");
}

TEST_F(RegularFile, ThatIsMissingIsAnError) {
  const auto text = read_text(folder_ + "/none");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(), "read " + folder_ + "/none: No such file or directory");
}

}  // namespace
}  // namespace ioc_exporter
