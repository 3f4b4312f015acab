#include "app/logging.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/unique_fd.h"

namespace ioc_exporter::app {
namespace {

TEST(Logging, AMessageStaysOneQuotedString) {
  EXPECT_EQ(quoted("plain"), "\"plain\"");
  EXPECT_EQ(quoted("a \"b\" c\\d"), R"("a \"b\" c\\d")");
  EXPECT_EQ(quoted("two\nlines"), R"("two\nlines")");
  EXPECT_EQ(quoted(std::string_view("\x01\x7f", 2)), R"("\u0001\u007f")");
  EXPECT_EQ(quoted("µs"), "\"µs\"");
}

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
  std::string read_all(std::size_t size) {
    std::string all;
    char bytes[4096];
    while (all.size() < size)
      if (const ssize_t got = ::read(read_.get(), bytes, sizeof bytes); got > 0)
        all.append(bytes, static_cast<std::size_t>(got));
    return all;
  }

  UniqueFd read_, write_;
  std::size_t filled_ = 0;
};

constexpr std::chrono::seconds kLong{60};

TEST_F(FullPipe, LinesWaitForAReader) {
  in_a_process([this] {
    LineQueue& lines = *new LineQueue(write_.get());
    lines.start();
    for (int i = 0; i < 23; ++i) lines.put("line " + std::to_string(i) + "\n");
    lines.wait_until_written(std::chrono::milliseconds(1));  // does not wait for the reader
    EXPECT_EQ(lines.lost(), 0u);
    const std::string all = read_all(filled_ + 23 * 7 + 13);
    EXPECT_EQ(all.substr(filled_, 14), "line 0\nline 1\n");
    EXPECT_TRUE(all.ends_with("line 22\n"));
    lines.wait_until_written(kLong);
  });
}

TEST_F(FullPipe, LinesWithoutRoomAreCounted) {
  in_a_process([this] {
    LineQueue& lines = *new LineQueue(write_.get());
    lines.start();
    const std::string line(1023, 'a');
    for (int i = 0; i < 256 + 23; ++i) lines.put(line + "\n");
    EXPECT_EQ(lines.lost(), 23u);
    read_all(filled_ + 256 * 1024);
    lines.wait_until_written(kLong);
    EXPECT_EQ(lines.lost(), 23u);
  });
}

TEST_F(FullPipe, WithoutAThreadNobodyWaitsEither) {
  LineQueue lines(write_.get());
  for (int i = 0; i < 23; ++i) lines.put("line\n");
  EXPECT_EQ(lines.lost(), 23u);
  read_all(filled_);
  lines.put("line\n");
  EXPECT_EQ(read_all(5), "line\n");
}

}  // namespace
}  // namespace ioc_exporter::app
