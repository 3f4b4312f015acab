// The file: rotation, whole lines, what a full disk and a killed exporter leave.
#include "delivery/line_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "events.h"
#include "putlog/json.h"
#include "putlog/sink.h"
#include "support/temporary_folder.h"

namespace ioc_exporter::putlog {
namespace {

using delivery::FileBounds;
using delivery::LogFile;
using FileSink = delivery::FileSink<Entry>;

class FileSinkTest : public testing::Test {
 protected:
  FileSink sink(FileBounds bounds = {}) const { return {file_, bounds, append_json}; }
  static Sink::Delivered deliver(FileSink& sink, std::uint64_t first, std::uint64_t count) {
    return sink.deliver(entries(first, count));
  }
  std::string text(const std::string& suffix = "") const {
    std::stringstream all;
    all << std::ifstream(file_.path + suffix).rdbuf();
    return all.str();
  }
  void write(const std::string& bytes) const { std::ofstream(file_.path) << bytes; }
  // Each line is one of ours; their sequence numbers.
  std::vector<std::uint64_t> numbers(const std::string& suffix = "") const {
    std::vector<std::uint64_t> all;
    std::istringstream lines(text(suffix));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.starts_with("{\"time\":") && line.ends_with('}')) << line;
      EXPECT_EQ(std::ranges::count(line, '{'), 1) << line;
      all.push_back(std::stoull(line.substr(line.find("\"seq\":") + 6)));
    }
    return all;
  }
  using Numbers = std::vector<std::uint64_t>;

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  LogFile file_ = {folder_ + "/puts.jsonl", 3};
};

TEST_F(FileSinkTest, AppendsLines) {
  for (const std::uint64_t first : {1u, 3u}) {
    FileSink one = sink();
    EXPECT_EQ(deliver(one, first, 2).entries, 2u);
  }
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4}));
}

TEST_F(FileSinkTest, RotatesBySizeAndKeepsSoManyOldOnes) {
  const std::size_t line = to_json(event(1)).size() + 1;
  struct Row {
    unsigned count;
    std::size_t size;
    std::uint64_t puts;
    std::vector<Numbers> files;  // the newest first
  };
  const Row rows[] = {{3, 2 * line, 9, {{9}, {7, 8}, {5, 6}, {3, 4}}},
                      {3, 10, 3, {{3}, {2}, {1}}},  // a line that is larger has a file of its own
                      {0, 10, 3, {{3}}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.count + row.size);
    file_ = {folder_ + "/" + std::to_string(row.count + row.size), row.count};
    FileSink small = sink({.size = row.size, .age = {}});
    EXPECT_EQ(deliver(small, 1, row.puts).entries, row.puts);
    for (std::size_t i = 0; i < row.files.size(); ++i)
      EXPECT_EQ(numbers(i == 0 ? "" : "." + std::to_string(i)), row.files[i]) << i;
    EXPECT_FALSE(std::filesystem::exists(file_.path + "." + std::to_string(row.files.size())));
  }
}

TEST_F(FileSinkTest, RotatesByAge) {
  FileSink old = sink({.age = std::chrono::milliseconds(1)});
  deliver(old, 1, 1);
  ::usleep(2000);
  deliver(old, 2, 1);
  EXPECT_EQ(numbers(), (Numbers{2}));
  EXPECT_EQ(numbers(".1"), (Numbers{1}));
}

TEST_F(FileSinkTest, HalfALineIsCutAtTheNextStart) {
  const std::string whole = to_json(event(1)) + "\n";
  PutEvent large = event(2);
  large.value = Value{std::vector<Element>(40'000, std::string("xyz")), true};
  for (const std::string& before : {whole, std::string()})
    for (const std::string& torn : {to_json(event(2)).substr(0, 40), std::string("{\"t"),
                                    to_json(large).substr(0, 200'001)}) {
      write(before + torn);
      FileSink next = sink();
      deliver(next, 3, 1);
      EXPECT_EQ(numbers(), before.empty() ? Numbers{3} : (Numbers{1, 3})) << torn.size();
    }
}

TEST_F(FileSinkTest, ContentOfOthersIsNotCut) {
  for (const std::string& theirs :
       {std::string("no log"), std::string("a\nb"), std::string(1u << 20, 'x')}) {
    write(theirs);
    FileSink next = sink();
    deliver(next, 1, 1);
    EXPECT_EQ(text(), theirs + "\n" + to_json(event(1)) + "\n");
  }
}

// More of what others may put there: puts/kept_channels_test.cpp.
TEST_F(FileSinkTest, NobodyPutsAnotherFileInItsPlace) {
  ASSERT_EQ(::mkfifo(file_.path.c_str(), 0640), 0);
  EXPECT_FALSE(sink().open());
  std::filesystem::remove(file_.path);
  ::chmod(folder_.c_str(), 0777);
  EXPECT_FALSE(sink().open());
  ::chmod(folder_.c_str(), 0700);
  EXPECT_TRUE(sink().open());
  file_.path = "puts.jsonl";
  EXPECT_FALSE(sink().open());
}

TEST_F(FileSinkTest, OneExporterWritesAFileAtATime) {
  FileSink first = sink(), second = sink();
  EXPECT_TRUE(first.open());
  const auto busy = second.open();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, std::errc::device_or_resource_busy);
}

TEST_F(FileSinkTest, ARemovedFileIsCreatedAgain) {
  FileSink one = sink();
  deliver(one, 1, 1);
  std::filesystem::remove(file_.path);
  deliver(one, 2, 1);
  EXPECT_EQ(numbers(), (Numbers{2}));
}

// RLIMIT_FSIZE is a disk that is full: what fits is written, at any byte.
TEST_F(FileSinkTest, AFullDiskLeavesWholeLinesAndIsRecoveredFrom) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const std::size_t line = to_json(event(1)).size() + 1;
  for (std::size_t room = 2 * line; room < 3 * line; room += 7) {
    std::filesystem::remove(file_.path);
    FileSink one = sink();
    const rlimit full{room, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    const auto done = deliver(one, 1, 5);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(done.entries, 2u);
    ASSERT_TRUE(done.problem);
    EXPECT_EQ(numbers(), (Numbers{1, 2}));
    EXPECT_EQ(deliver(one, 3, 3).entries, 3u);
    EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4, 5}));
  }
}

// Delivered lines are there once, and every line is whole, whenever the exporter is killed.
TEST_F(FileSinkTest, DeliveredLinesSurviveAKill) {
  std::uint64_t next = 1;
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      FileSink one = sink();
      for (std::uint64_t seq = next;; seq += 100) {
        if (deliver(one, seq, 100).entries != 100) ::_exit(1);
        const std::uint64_t last = seq + 99;
        if (::write(ends[1], &last, sizeof last) < 0) ::_exit(1);
      }
    }
    ::close(ends[1]);
    std::uint64_t delivered = 0;
    for (int i = 0; i < 20; ++i) ASSERT_GT(::read(ends[0], &delivered, sizeof delivered), 0);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    while (::read(ends[0], &delivered, sizeof delivered) > 0) {
    }
    ::close(ends[0]);
    FileSink again = sink();
    ASSERT_TRUE(again.open());
    const Numbers there = numbers();
    ASSERT_GE(there.size(), delivered);
    for (std::size_t i = 0; i < there.size(); ++i) ASSERT_EQ(there[i], i + 1);
    next = there.size() + 1;
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog
