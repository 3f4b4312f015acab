// What outlives the exporter: the file of seen IOCs, that of forgotten ones, and the command that
// writes it.
#include "iocs/seen_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "iocs/expected.h"
#include "iocs/forgotten.h"
#include "iocs/ioc_list.h"
#include "iocs/iocs_command.h"
#include "iocs/seen_keeper.h"

namespace ioc_exporter::iocs {
namespace {

class SeenFileTest : public testing::Test {
 protected:
  SeenFileTest() {
    std::string name = testing::TempDir() + "seen.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SeenFileTest() override { std::filesystem::remove_all(folder_); }

  static SeenText sample(std::uint64_t generation) {
    SeenText text{generation, {}};
    SeenIoc& ps = text.iocs["power supplies"];
    ps.user = 1001;
    ps.longest_run = 86'400;
    ps.last_seen = 1'800'000'000;
    SeenIoc& vac = text.iocs["vac"];
    vac.gone = 0.25;
    vac.exit = IocExit{"core_dump", "", "SIGSEGV"};
    return text;
  }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  std::string read(const char* name) const {
    std::stringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  void write(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }
  static CommandResult command(std::vector<const char*> arguments) {
    return iocs_command(static_cast<int>(arguments.size()), arguments.data());
  }

  std::string folder_;
  std::string problem_;
};

TEST_F(SeenFileTest, IsReadAsItWasWritten) {
  const auto read = seen_from_text(to_text(sample(7)));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->generation, 7u);
  ASSERT_EQ(read->iocs.size(), 2u);
  EXPECT_EQ(read->iocs.at("power supplies").longest_run, 86'400u);
  EXPECT_EQ(read->iocs.at("power supplies").user, 1001u);
  EXPECT_EQ(read->iocs.at("power supplies").gone, 0);
  EXPECT_GT(read->iocs.at("vac").gone, 0) << "it is gone, however short";
  EXPECT_EQ(read->iocs.at("vac").exit, (IocExit{"core_dump", "", "SIGSEGV"}));
}

// Cut at every place, and with every bit turned: a word that says where, or the same.
TEST_F(SeenFileTest, WhatIsBrokenIsSaid) {
  const std::string whole = to_text(sample(7));
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_FALSE(seen_from_text(whole.substr(0, length))) << length;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = whole;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      EXPECT_FALSE(seen_from_text(other)) << at << " " << bit;
    }
  EXPECT_EQ(seen_from_text("x").error().message().substr(0, 6), "line 1");
}

TEST_F(SeenFileTest, TheLaterOfTwoThatIsWhole) {
  {
    auto file = StateFiles::open(folder_, kSeenFiles);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(read_seen(folder_, problem_).generation, 0u);
    for (std::uint64_t generation = 1; generation <= 4; ++generation)
      EXPECT_TRUE(file->write(generation, to_text(sample(generation))));
    SeenText less{5, {}};
    EXPECT_TRUE(file->write(5, to_text(less))) << "a shorter one leaves nothing behind";
    EXPECT_EQ(StateFiles::open(folder_, kSeenFiles).error().code,
              std::errc::device_or_resource_busy);
  }
  EXPECT_EQ(read_seen(folder_, problem_).generation, 5u);
  EXPECT_EQ(problem_, "");
  struct stat status {};
  ASSERT_EQ(::stat(path("seen-iocs.1").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  write("seen-iocs.2", "half");  // as after a crash in the middle of it
  const SeenText kept = read_seen(folder_, problem_);
  EXPECT_EQ(kept.generation, 4u);
  EXPECT_EQ(kept.iocs.size(), 2u);
  EXPECT_NE(problem_.find("seen-iocs.2: line 1"), std::string::npos) << problem_;
}

// Files may grow no more than a few bytes, as on a disk that is full.
TEST_F(SeenFileTest, AFullDiskLeavesTheLastListWhole) {
  SeenKeeper keeper({folder_, std::chrono::seconds(0), FirstUsers(), NameFilter()}, RootedFs());
  SeenKeeper::Clock::time_point now{};
  keeper.open(now);
  std::vector<SeenIocs::Running> running = {{"ps", 0, "root", true, true, 1}};
  const auto kept = [&] {
    keeper.look(running, 1'800'000'000, now);
    keeper.keep(now += SeenKeeper::kPause);
    std::this_thread::yield();
    return read_seen(folder_, problem_).iocs.size();
  };
  while (kept() != 1) continue;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{std::filesystem::file_size(path("seen-iocs.2")) + 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const char* const name : {"vac", "rf", "motors"})
    running.push_back({name, 0, "root", true, true, 1});
  while (keeper.problem().empty()) kept();
  std::size_t fewest = 1;
  for (int i = 0; i < 1000; ++i) fewest = std::min(fewest, kept());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(fewest, 1u) << "however often it is tried";
  while (kept() != 4) continue;
}

TEST_F(SeenFileTest, NothingThatOthersPutThere) {
  std::filesystem::create_symlink("/etc/passwd", path("seen-iocs.1"));
  EXPECT_FALSE(StateFiles::open(folder_, kSeenFiles)) << "a link";
  std::filesystem::remove(path("seen-iocs.1"));
  std::ofstream(path("anothers")) << "his";
  std::filesystem::create_hard_link(path("anothers"), path("seen-iocs.1"));
  EXPECT_FALSE(StateFiles::open(folder_, kSeenFiles)) << "another name of a file";
  std::filesystem::remove(path("seen-iocs.1"));
  std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  const auto open = StateFiles::open(folder_, kSeenFiles);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message().find("others than its owner"), std::string::npos);
  EXPECT_FALSE(write_forgotten(folder_, {{"ps", 1}}));
}

TEST_F(SeenFileTest, ForgetNotesWhatIsRememberedAndGone) {
  EXPECT_EQ(command({"forget", ("--state=" + folder_).c_str(), "vac"}).status, 1) << "no exporter";
  {
    auto file = StateFiles::open(folder_, kSeenFiles);
    ASSERT_TRUE(file && file->write(1, to_text(sample(1))));
  }
  ForgottenWatch watch(folder_);
  EXPECT_TRUE(watch.has_changed());
  EXPECT_FALSE(watch.has_changed());
  const std::string state = "--state=" + folder_;
  EXPECT_EQ(command({"forget", state.c_str(), "power supplies"}).status, 3) << "it runs";
  EXPECT_EQ(command({"forget", state.c_str(), "nobody"}).status, 3);
  EXPECT_EQ(command({"forget", state.c_str()}).status, 2);
  const auto done = command({"forget", state.c_str(), "vac"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(watch.has_changed());
  const auto forgotten = read_forgotten(folder_);
  ASSERT_TRUE(forgotten && forgotten->size() == 1);
  EXPECT_EQ(forgotten->front().name, "vac");
  EXPECT_GT(forgotten->front().time, 1'700'000'000);
  {
    SeenText ahead = sample(2);
    ahead.iocs["vac"].last_seen = 9'000'000'000;
    auto file = StateFiles::open(folder_, kSeenFiles);
    ASSERT_TRUE(file && file->write(2, to_text(ahead)));
  }
  EXPECT_EQ(command({"forget", state.c_str(), "vac"}).status, 0);
  EXPECT_EQ(read_forgotten(folder_)->back().time, 9'000'000'000)
      << "seen before a clock was set back";
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(write_forgotten(folder_, std::vector<Forgotten>(500, {"x", 5})));
  EXPECT_EQ(read_forgotten(folder_)->size(), kMostForgotten);
  write("forgotten-iocs", "soon\tvac\n");
  EXPECT_FALSE(read_forgotten(folder_));
}

TEST_F(SeenFileTest, NamesThatAreExpected) {
  write("expected", "# of this beam line\n ps  # power supplies\n\nvac\r\nother-1\nps\n");
  ExpectedOptions options{{"rf", "vac"}, path("expected"), *Pattern::compile("[pv].*")};
  const auto names = read_expected(options);
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, (std::vector<std::string>{"ps", "rf", "vac"}));
  write("expected", "ps\na\x01z\n");
  EXPECT_NE(read_expected(options).error().message().find("line 2"), std::string::npos);
  options.file = folder_ + "/none";
  EXPECT_FALSE(read_expected(options));
}

TEST(IocList, IsReadAsItWasWritten) {
  const IocList list = {{"a \"b\"", "epics", true, 1.5, "", true},
                        {"c", "u", false, 0, "epics", false}};
  const auto read = ioc_list_from_json(to_json(list));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[0].name, "a \"b\"");
  EXPECT_TRUE((*read)[0].up && (*read)[0].expected);
  EXPECT_EQ((*read)[1].contested_with, "epics");
  EXPECT_FALSE(ioc_list_from_json("{}"));
}

}  // namespace
}  // namespace ioc_exporter::iocs
