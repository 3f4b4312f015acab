// The put log's files as a command reads them, also while they are renamed.
#include "putlog/log_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/time_text.h"
#include "events.h"
#include "putlog/json.h"
#include "support/temporary_folder.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

const auto kTime = event(1).time;

class LogFilesTest : public testing::Test {
 protected:
  using Numbers = std::vector<std::uint64_t>;

  std::string path(const std::string& suffix = "") const { return folder_.path("/puts" + suffix); }
  void add(const std::string& suffix, const std::string& text) const {
    std::ofstream(path(suffix), std::ios::app) << text;
  }
  // Lines of puts of an hour each.
  void add(const std::string& suffix, std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t seq = first; seq < first + count; ++seq) {
      PutEvent one = event(seq, seq % 2 == 0 ? "EVEN" : "ODD");
      one.time = *at(seq);
      add(suffix, to_json(one) + "\n");
    }
  }
  static Since at(std::uint64_t seq) { return kTime + std::chrono::hours(seq); }
  Numbers numbers(const PutQuery& query = {}) {
    Numbers all;
    auto read = read_log_files(path(), query, [&all](std::string_view line) {
      all.push_back(std::stoull(std::string(line.substr(line.find("\"seq\":") + 6))));
      return true;
    });
    EXPECT_TRUE(read) << read.error().message();
    if (read) read_ = std::move(*read);
    return all;
  }

  const TemporaryFolder folder_;
  FilesRead read_;
};

TEST_F(LogFilesTest, TheOldestFileComesFirst) {
  add(".2", 1, 2);
  add(".1", 3, 2);
  add("", 5, 3);
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4, 5, 6, 7}));
  PutQuery query;
  query.since = at(2);
  query.filter.pv.include = *Pattern::compile("EVEN");
  EXPECT_EQ(numbers(query), (Numbers{2, 4, 6}));
  EXPECT_EQ(read_.reach, time_text(*at(1)));
}

TEST_F(LogFilesTest, WhileFilesAreRenamedEachLineIsToldOnce) {
  add(".3", 1, 2);  // .2 is missing, and .1 still is the newest
  add("", 3, 2);
  std::filesystem::create_hard_link(path(), path(".1"));
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4}));
  std::filesystem::remove(path());
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4}));
}

TEST_F(LogFilesTest, FilesThatWereWrittenBeforeAreNotRead) {
  add(".2", "no put\n");
  add(".1", 1, 2);
  add("", 3, 2);
  const auto written = [this](const std::string& suffix, const Since& time) {
    const timespec when{std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count(),
                        0};
    const timespec both[] = {when, when};
    EXPECT_EQ(::utimensat(AT_FDCWD, path(suffix).c_str(), both, 0), 0);
  };
  written(".2", at(0));
  written(".1", at(2));
  PutQuery query;
  query.since = at(2);
  EXPECT_EQ(numbers(query), (Numbers{2, 3, 4}));
  EXPECT_EQ(read_.unlike, 0u);
  EXPECT_EQ(read_.reach, "") << "older ones are there";
  written("", at(3));
  written(".1", at(2));
  query.since = at(9);
  EXPECT_EQ(numbers(query), Numbers());
}

TEST_F(LogFilesTest, FiltersAreThoseOfTheExporter) {
  PutEvent group = event(1, "GROUP");
  group.fields.resize(2);
  group.fields[1].field = "SR:I.VAL";
  PutEvent inside = event(2, "\\\"inside\\\":true");
  inside.inside = true;
  PutEvent bad = inside;
  bad.seq = 3;
  bad.action = "forbidden";
  for (const PutEvent& one : {group, inside, bad}) add("", to_json(one) + "\n");
  EXPECT_EQ(numbers(), (Numbers{1, 3}));
  PutQuery query;
  query.filter.inside = true;
  EXPECT_EQ(numbers(query), (Numbers{1, 2, 3}));
  query.filter.unexpected = true;
  EXPECT_EQ(numbers(query), Numbers{3});
  query = {};
  query.filter.pv.include = *Pattern::compile("SR:I");
  EXPECT_EQ(numbers(query), Numbers{1});
}

TEST_F(LogFilesTest, WhatIsNoPutIsCounted) {
  add("", 1, 1);
  add("", "\n[]\n{\"time\":\"2027\n{\"a\":1}\n");
  add("", 2, 1);
  const std::string half = to_json(event(3));
  add("", half.substr(0, half.size() / 2));  // as while it is written
  EXPECT_EQ(numbers(), (Numbers{1, 2}));
  EXPECT_EQ(read_.unlike, 4u);
}

TEST_F(LogFilesTest, ErrorsAreTold) {
  const auto problem = [this] {
    const auto read = read_log_files(path(), {}, [](std::string_view) { return true; });
    return read ? "" : read.error().message();
  };
  EXPECT_EQ(problem(), "open " + path() + ": there is no such file");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(problem(), "open " + path() + ": it is no regular file");
}

}  // namespace
}  // namespace ioc_exporter::putlog
