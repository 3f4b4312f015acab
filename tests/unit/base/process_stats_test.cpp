#include "base/process_stats.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace ioc_exporter {
namespace {

constexpr ProcessUnits kUnits{100, 4096};

class ProcessStatsTest : public testing::Test {
 protected:
  ProcessStatsTest() {
    std::string pattern = testing::TempDir() + "process_stats_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    write("proc/self/stat",
          "812 (ioc) exporter) S 1 812 812 0 -1 4194560 900 0 0 0 125 75 0 0 20 0 9 0 50025 "
          "268435456 4096 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max processes             63432                63432                processes \n"
          "Max open files            1024                 1048576              files     \n");
    write("proc/stat", "cpu  1 2 3\nintr 5 0 0\nbtime 1790000000\nprocesses 9\n");
    for (const char* fd : {"0", "1", "2"}) write(std::string("proc/self/fd/") + fd, "");
  }
  ~ProcessStatsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  Result<ProcessStats> read() const { return read_process_stats(RootedFs(root_), kUnits); }

  std::string root_;
};

TEST_F(ProcessStatsTest, ReadsAll) {
  const auto stats = read();
  ASSERT_TRUE(stats.ok()) << stats.error().message();
  EXPECT_EQ(stats->cpu_seconds, 2.0);
  EXPECT_EQ(stats->boot_time_seconds, 1790000000);
  EXPECT_EQ(stats->start_time_seconds, 1790000500.25);
  EXPECT_EQ(stats->virtual_memory_bytes, 268435456u);
  EXPECT_EQ(stats->resident_memory_bytes, 4096u * 4096u);
  EXPECT_EQ(stats->max_fds, 1024u);
  EXPECT_EQ(stats->open_fds, 3u);
}

TEST_F(ProcessStatsTest, UnlimitedFilesAndClosedDirectory) {
  write("proc/self/limits",
        "Max open files            unlimited            unlimited            files\n");
  std::filesystem::remove_all(root_ + "/proc/self/fd");
  const auto stats = read();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->max_fds, UINT64_MAX);
  EXPECT_FALSE(stats->open_fds.has_value());
}

TEST_F(ProcessStatsTest, NamesTheFileThatIsMissingOrOdd) {
  write("proc/stat", "cpu 1\n");
  EXPECT_EQ(read().error().message(), "read " + root_ + "/proc/stat: not in the form of proc(5)");
  write("proc/self/stat", "812 (x) S 1 2\n");
  EXPECT_EQ(read().error().message(),
            "read " + root_ + "/proc/self/stat: not in the form of proc(5)");
  std::filesystem::remove(root_ + "/proc/self/stat");
  EXPECT_EQ(read().error().message(),
            "open " + root_ + "/proc/self/stat: No such file or directory");
}

TEST(ProcessStats, OfThisVeryProcessAreInReason) {
  const auto stats = read_process_stats(RootedFs());
  ASSERT_TRUE(stats.ok()) << stats.error().message();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(stats->start_time_seconds, now, 60);
  EXPECT_GT(stats->resident_memory_bytes, 100'000u);
  EXPECT_GT(stats->virtual_memory_bytes, stats->resident_memory_bytes);
  ASSERT_TRUE(stats->open_fds.has_value());
  EXPECT_GE(*stats->open_fds, 3u);
  EXPECT_GE(stats->max_fds, *stats->open_fds);
}

}  // namespace
}  // namespace ioc_exporter
