#include "iocs/seen_iocs.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A day's clock, which the test sets.
class Seen : public testing::Test {
 protected:
  void start(const std::string& name, std::uint32_t user = 1001, bool goes_first = false) {
    running_.push_back({name, user, "u" + std::to_string(user), goes_first, true, 0});
  }
  void end(const std::string& name) {
    std::erase_if(running_, [&name](const auto& one) { return one.name == name; });
  }
  void pass(seconds time) {
    now_ += static_cast<double>(time.count());
    for (SeenIocs::Running& one : running_) one.seen_seconds += static_cast<double>(time.count());
    seen_.look(running_, now_, time);
  }
  std::string all() const {
    std::string text;
    for (const auto& [name, one] : seen_.all())
      text += (text.empty() ? "" : " ") + name + (one.up ? "+" : "-");
    return text;
  }

  SeenIocs seen_{SeenIocs::Options{.after = minutes(10), .places = 8, .most_others = 8}};
  std::vector<SeenIocs::Running> running_;
  double now_ = 1'800'000'000;
};

TEST_F(Seen, WhatRanForLongIsRememberedAndComesAgain) {
  start("ps");
  pass(minutes(9));
  EXPECT_EQ(all(), "");
  EXPECT_FALSE(seen_.take_changed());
  pass(minutes(2));
  EXPECT_EQ(all(), "ps+");
  EXPECT_TRUE(seen_.take_changed());
  pass(seconds(1));
  EXPECT_FALSE(seen_.take_changed());
  end("ps");
  pass(seconds(1));
  EXPECT_EQ(all(), "ps-");
  EXPECT_TRUE(seen_.take_changed());
  start("ps");
  pass(seconds(1));
  EXPECT_EQ(all(), "ps+") << "at once, however short it runs";
}

TEST_F(Seen, HowItEndedStaysWithIt) {
  start("ps", 0, true);
  pass(hours(1));
  seen_.ended("ps", 0, exit_of_status(9));
  EXPECT_FALSE(seen_.all().at("ps").exit) << "the run before this one";
  end("ps");
  pass(seconds(1));
  seen_.ended("ps", 1002, exit_of_status(9));
  EXPECT_FALSE(seen_.all().at("ps").exit) << "another user's";
  seen_.ended("ps", 0, exit_of_status(0x8b));
  EXPECT_EQ(in_words(*seen_.all().at("ps").exit), "SIGSEGV, a core was dumped");
  EXPECT_EQ(in_words(exit_of_status(9)), "SIGKILL");
  EXPECT_EQ(in_words(exit_of_status(7 << 8)), "exit status 7");
  // How it ends then, nobody may see: an exporter that was not there does not know.
  start("ps", 0, true);
  pass(seconds(1));
  EXPECT_FALSE(seen_.all().at("ps").exit);
}

// Root's, and those of --ioc.users, until an operator says so; others' for a while.
TEST_F(Seen, OthersAreNotRememberedForEver) {
  start("fake", 1002);
  start("ps", 0, true);
  pass(hours(1));
  running_.clear();
  pass(seconds(1));
  pass(hours(9));
  EXPECT_EQ(all(), "fake- ps-");
  pass(hours(2));
  EXPECT_EQ(all(), "ps-");
  pass(hours(24 * 365));
  EXPECT_EQ(all(), "ps-");
  EXPECT_TRUE(seen_.forget("ps", now_));
  EXPECT_EQ(all(), "");
}

TEST_F(Seen, OnlyWhatIsGoneAndWasNotSeenSinceIsForgotten) {
  start("ps");
  pass(hours(1));
  EXPECT_FALSE(seen_.forget("ps", now_)) << "it runs";
  const double then = now_;
  pass(hours(1));
  end("ps");
  pass(seconds(1));
  EXPECT_FALSE(seen_.forget("ps", then)) << "it was seen after the operator spoke";
  EXPECT_TRUE(seen_.forget("ps", now_));
  EXPECT_FALSE(seen_.forget("ps", now_));
}

// Ten thousand invented names, one after the other and together, take no place of another user.
TEST_F(Seen, WhoInventsNamesTakesNobodysPlace) {
  start("ps", 1001);
  start("vac", 1003, true);
  pass(hours(1));
  end("ps");
  end("vac");
  for (int wave = 0; wave < 20; ++wave) {
    for (int i = 0; i < 500; ++i) start("fake" + std::to_string(wave * 500 + i), 1002);
    pass(hours(1));
    std::erase_if(running_, [](const auto& one) { return one.user == 1002; });
    pass(seconds(1));
    ASSERT_LE(seen_.all().size(), 8u);
    ASSERT_TRUE(wave > 8 || seen_.all().contains("ps"));
    ASSERT_TRUE(seen_.all().contains("vac"));
  }
  pass(hours(11));
  EXPECT_EQ(all(), "vac-");
}

TEST_F(Seen, WhereUsersAreNamedAllOthersHaveASmallShare) {
  seen_ = SeenIocs(SeenIocs::Options{.after = minutes(10), .places = 8, .most_others = 1});
  start("a", 1002);
  start("b", 1002);
  for (const char* const name : {"1", "2", "3"}) start(name, 1001, true);
  pass(hours(1));
  EXPECT_EQ(seen_.all().size(), 4u);
}

// It was told apart by its pid, and never comes again under this name.
TEST_F(Seen, ANameWithAPidIsNotRemembered) {
  running_.push_back({"ps-812", 1001, "alice", false, false, 0});
  pass(hours(1));
  EXPECT_EQ(all(), "");
}

TEST_F(Seen, ANameThatIsAnotherUsersNowIsRememberedAsHis) {
  start("ps", 1001);
  pass(hours(1));
  running_.clear();
  start("ps", 0, true);
  pass(seconds(1));
  EXPECT_EQ(all(), "ps-") << "who has it for a moment changes nothing";
  pass(hours(1));
  EXPECT_EQ(all(), "ps+");
  EXPECT_EQ(seen_.all().at("ps").user, 0u);
}

TEST_F(Seen, ARestartChangesNothing) {
  start("ps");
  start("vac", 0, true);
  pass(hours(2));
  SeenIocs again(SeenIocs::Options{.after = minutes(10), .places = 8, .most_others = 8});
  again.restore(seen_.all());
  seen_ = std::move(again);
  end("vac");
  pass(seconds(0));
  EXPECT_EQ(all(), "ps+ vac-");
}

// Only what is kept as gone can be forgotten (ioc_exporter iocs forget).
TEST_F(Seen, WhatHasEndedWhileNoExporterRanIsKeptAsGone) {
  start("ps", 0, true);
  pass(hours(1));
  const SeenByName kept = seen_.all();
  seen_ = SeenIocs(SeenIocs::Options{.after = minutes(10), .places = 8, .most_others = 8});
  seen_.restore(kept);
  end("ps");
  pass(seconds(1));
  EXPECT_TRUE(seen_.take_changed());
  pass(seconds(1));
  EXPECT_FALSE(seen_.take_changed()) << "once";
}

}  // namespace
}  // namespace ioc_exporter::iocs
