// Names of open channels as they are kept in a file.
#include "puts/tap/kept_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

using testing::HasSubstr;

KeptCircuits sample() {
  return {{17, {1'000'000'007, "anna", "console", {{100, "S:a"}, {101, std::string(231, 'x')}}}},
          {1ull << 63, {~0ull, "", "\"h\\\n", {{~0u, "b"}}}}};
}

TEST(KeptChannels, AreReadAsTheyWereWrittenInTheSameStartOfTheHost) {
  EXPECT_EQ(value_of(read_kept(kept_text("boot\n", sample()), "boot\n")), sample());
  EXPECT_EQ(value_of(read_kept(kept_text("boot", {}), "boot")), KeptCircuits());
  EXPECT_TRUE(value_of(read_kept(kept_text("boot", sample()), "another")).empty());
}

TEST(KeptChannels, ABrokenFileIsNotBelieved) {
  const std::string whole = kept_text("boot", sample());
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_FALSE(read_kept(whole.substr(0, length), "boot")) << length;
  EXPECT_FALSE(read_kept(whole + "]}", "boot")) << "the end of a longer one";
  EXPECT_FALSE(read_kept(R"({"boot":"boot","circuits":[{"seen":1,"channels":[]}]})", "boot"));
  EXPECT_FALSE(read_kept(R"({"boot":"boot","circuits":[{"socket":-1}]})", "boot"));
}

class ChannelsFileTest : public testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path(), path_ = folder_ + "/channels";
  ChannelsFile file_;
};

TEST_F(ChannelsFileTest, HasWhatTheRunBeforeHasWrittenLast) {
  EXPECT_TRUE(file_.open(folder_, "boot").empty());
  ASSERT_TRUE(file_.write(sample()));
  const KeptCircuits fewer = {*sample().begin()};
  ASSERT_TRUE(file_.write(fewer));
  EXPECT_TRUE(ChannelsFile().open(folder_, "boot").empty()) << "another one has it";
  file_ = ChannelsFile();
  EXPECT_EQ(file_.open(folder_, "boot"), fewer);
  file_ = ChannelsFile();
  EXPECT_TRUE(file_.open(folder_, "boot").empty()) << "after a kill";
  EXPECT_EQ(file_.problem(), "");
  EXPECT_EQ(file_.sample().read + file_.sample().open, 0u);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(ChannelsFileTest, ThatIsBrokenIsCountedAndWrittenAnew) {
  std::ofstream(path_) << "{";
  EXPECT_TRUE(file_.open(folder_, "boot").empty());
  EXPECT_EQ(file_.sample().read, 1u);
  ASSERT_TRUE(file_.write(sample()));
  file_ = ChannelsFile();
  EXPECT_EQ(file_.open(folder_, "boot"), sample());
}

TEST_F(ChannelsFileTest, OneExporterHasTheFolderAtATime) {
  file_.open(folder_, "boot");
  ChannelsFile other;
  other.open(folder_, "boot");
  EXPECT_FALSE(other.is_open());
  EXPECT_EQ(other.sample().open, 1u);
  EXPECT_THAT(other.problem(), HasSubstr("another exporter does"));
}

TEST_F(ChannelsFileTest, NothingThatOthersPutThere) {
  const auto refused = [this] {
    ChannelsFile file;
    file.open(folder_, "boot");
    return !file.is_open();
  };
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_TRUE(refused()) << "a link";
  std::filesystem::remove(path_);
  std::ofstream(folder_ + "/anothers") << "his";
  std::filesystem::create_hard_link(folder_ + "/anothers", path_);
  EXPECT_TRUE(refused()) << "another name of a file";
  std::filesystem::remove(path_);
  std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  EXPECT_TRUE(refused()) << "others may write to the folder";
}

// The process may make no file larger, as on a disk that is full.
TEST_F(ChannelsFileTest, AFullDiskIsAnError) {
  file_.open(folder_, "boot");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{60, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto written = file_.write(sample());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(error_of(written), "write " + path_ + ": File too large");
}

}  // namespace
}  // namespace ioc_exporter::puts
