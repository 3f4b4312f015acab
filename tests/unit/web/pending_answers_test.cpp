#include "web/request_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace ioc_exporter::web {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMiB = 1 << 20;

struct PendingAnswersTest : testing::Test {
  // `size`: MiB.
  bool hold(const std::string& holder, int port, std::size_t size) {
    return held_.emplace_back(pending_, holder, PendingAnswers::Peer(holder, port), size * kMiB)
        .has_room();
  }

  std::vector<int> cut_;  // ports
  PendingAnswers pending_{
      100 * kMiB, [this](const PendingAnswers::Peer& peer) { cut_.push_back(peer.second); }};
  std::list<PendingAnswers::Answer> held_;
};

TEST_F(PendingAnswersTest, TheOnlyOneMayBeLarger) {
  EXPECT_TRUE(hold("a", 1, 1000));
  EXPECT_FALSE(hold("a", 2, 10));
  held_.clear();
  EXPECT_TRUE(hold("b", 3, 10));
  EXPECT_TRUE(cut_.empty());
}

TEST_F(PendingAnswersTest, SmallOnesNeedNoRoom) {
  EXPECT_TRUE(hold("a", 1, 1000));
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(held_.emplace_back(pending_, "a", PendingAnswers::Peer("a", i), 4096).has_room());
  EXPECT_TRUE(cut_.empty());
}

TEST_F(PendingAnswersTest, WhoHoldsMostGivesWayToWhoComes) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(hold("greedy", i, 10));
  EXPECT_TRUE(hold("new", 20, 15));
  EXPECT_EQ(cut_, (std::vector<int>{0, 1}));
  EXPECT_FALSE(hold("greedy", 21, 10));  // its older ones may just be taken
  EXPECT_FALSE(hold("new", 22, 30));     // half as much as the greedy one and more
  EXPECT_FALSE(hold("new", 23, 90));     // more than anybody
  std::this_thread::sleep_for(1100ms);
  EXPECT_TRUE(hold("greedy", 24, 10));
  EXPECT_EQ(cut_, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(hold("new", 25, 30));
  EXPECT_EQ(cut_, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  held_.clear();
  EXPECT_TRUE(hold("new", 26, 100));
}

}  // namespace
}  // namespace ioc_exporter::web
