#include "app/logging.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/log.h"
#include "base/unique_fd.h"

namespace ioc_exporter::app {
namespace {

// In a process of its own: the queue's thread does not end.
void in_a_process(const std::function<void()>& test) {
  const pid_t child = ::fork();
  if (child == 0) {
    test();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class FullPipe : public testing::Test {
 protected:
  FullPipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    ::fcntl(write_.get(), F_SETFL, O_NONBLOCK);
    while (::write(write_.get(), "x", 1) == 1) ++filled_;
    ::fcntl(write_.get(), F_SETFL, 0);
  }
  std::string read_until(const std::string& end) {
    std::string all;
    char bytes[4096];
    while (!all.ends_with(end))
      if (const ssize_t got = ::read(read_.get(), bytes, sizeof bytes); got > 0)
        all.append(bytes, static_cast<std::size_t>(got));
    return all;
  }

  UniqueFd read_, write_;
  std::size_t filled_ = 0;
};

constexpr std::chrono::seconds kLong{60};

// Others choose the names of executables.
TEST_F(FullPipe, AMessageStaysOneQuotedStringOfUtf8) {
  in_a_process([this] {
    set_up_logging("info", LogFormat::json, write_.get());
    start_log_thread();
    log::info("{}", "a \"b\" c\\d\nµ\x01\xc2\x9b\xff");
    const std::string all = read_until("}\n");
    EXPECT_TRUE(all.ends_with("\"a \\\"b\\\" c\\\\d\\nµ\\u0001\\u009b\\\\xFF\"}\n")) << all;
  });
}

TEST_F(FullPipe, LinesWaitForAReader) {
  in_a_process([this] {
    set_up_logging("info", LogFormat::logfmt, write_.get());
    start_log_thread();
    for (int i = 0; i < 23; ++i) log::info("line {}", i);
    wait_until_logged(std::chrono::milliseconds(1));  // does not wait for the reader
    EXPECT_EQ(lost_log_lines(), 0u);
    const std::string all = read_until("line 22\"\n");
    EXPECT_NE(all.find("level=info msg=\"line 0\"\nts="), std::string::npos);
  });
}

TEST_F(FullPipe, LinesWithoutRoomAreCounted) {
  in_a_process([this] {
    set_up_logging("info", LogFormat::logfmt, write_.get());
    start_log_thread();
    constexpr std::size_t kMore = 23;
    for (std::size_t i = 0; i <= kMostLogLines + kMore; ++i) log::info("line");
    const std::uint64_t lost = lost_log_lines();
    EXPECT_GE(lost, kMore) << "one may be on its way";
    log::info("the end");  // in the place of one
    const std::string all = read_until("the end\"\n");
    const auto lines = static_cast<std::size_t>(std::ranges::count(all, '\n'));
    EXPECT_EQ(lines + lost_log_lines(), kMostLogLines + kMore + 2);
    wait_until_logged(kLong);
  });
}

TEST_F(FullPipe, WithoutAThreadNobodyWaitsEither) {
  in_a_process([this] {
    set_up_logging("info", LogFormat::logfmt, write_.get());
    for (int i = 0; i < 23; ++i) log::info("line");
    EXPECT_EQ(lost_log_lines(), 23u);
    say("line\n");
    EXPECT_EQ(lost_log_lines(), 24u);
    char bytes[4096];
    for (std::size_t left = filled_; left > 0;)
      left -= static_cast<std::size_t>(::read(read_.get(), bytes, std::min(left, sizeof bytes)));
    log::info("room");
    read_until("room\"\n");
  });
}

}  // namespace
}  // namespace ioc_exporter::app
