// Demands, without a kernel that is told of them.
#include "traces/wishes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace ioc_exporter::traces {
namespace {

using namespace std::chrono_literals;
using Clock = Wishes::Clock;

std::shared_ptr<const Database> database_of(std::size_t records) {
  auto database = std::make_shared<Database>();
  for (std::size_t i = 0; i < records; ++i)
    database->records.push_back({0x1000 + i, "A:" + std::to_string(i), 0});
  database->aliases.push_back({"ALIAS", 1});
  return database;
}

Demand demand_of(const std::string& records, const std::string& holder = "local",
                 const std::string& ticket = "") {
  return {.records = *Pattern::compile(records),
          .ioc = {},
          .slower = {},
          .cause = "",
          .holder = holder,
          .ticket = ticket};
}

class WishesTest : public testing::Test {
 protected:
  void SetUp() override { EXPECT_TRUE(wishes_.add(3, 1, "one", database_of(10), now_)); }
  Result<std::size_t> ask(const Demand& demand) {
    auto matches = Wishes::match(demand, wishes_.places(), Clock::now() + 1min);
    return wishes_.ask(demand, *matches, now_);
  }

  const Clock::time_point now_ = Clock::now();
  Wishes wishes_{Options(), {}};
};

TEST_F(WishesTest, ADemandIsForRecordsByNameAndAlias) {
  EXPECT_EQ(*ask(demand_of("NONE")), 0u);
  EXPECT_FALSE(wishes_.wants_all(3));
  EXPECT_EQ(*ask(demand_of("A:2|ALIAS")), 2u);
  EXPECT_TRUE(wishes_.wants_all(3));
  EXPECT_TRUE(wishes_.look(now_ + 5s));
  EXPECT_TRUE(wishes_.wants_all(3));
  EXPECT_TRUE(wishes_.look(now_ + 10s));
  EXPECT_FALSE(wishes_.wants_all(3));
}

TEST_F(WishesTest, ItIsForIocsThatComeLater) {
  Demand demand = demand_of("A:.*");
  demand.ioc = *Pattern::compile("one|two");
  EXPECT_EQ(*ask(demand), 10u);
  EXPECT_TRUE(wishes_.add(4, 1, "two", database_of(2), now_));
  EXPECT_TRUE(wishes_.add(5, 1, "three", database_of(2), now_));
  EXPECT_TRUE(wishes_.wants_all(4));
  EXPECT_FALSE(wishes_.wants_all(5));
  EXPECT_TRUE(wishes_.remove(4, 1));
  EXPECT_TRUE(wishes_.add(4, 2, "three", database_of(2), now_));
  EXPECT_FALSE(wishes_.wants_all(4));
  EXPECT_TRUE(wishes_.add(5, 1, "two", database_of(3), now_));  // its name is known now
  EXPECT_TRUE(wishes_.wants_all(5));
}

// Between matching and asking no lock is held.
TEST_F(WishesTest, AnIocThatComesWhileItIsMatchedIsNotMissed) {
  const Demand demand = demand_of("A:.*");
  auto matches = Wishes::match(demand, wishes_.places(), Clock::now() + 1min);
  ASSERT_TRUE(matches);
  EXPECT_TRUE(wishes_.add(3, 1, "one", database_of(4), now_));
  EXPECT_TRUE(wishes_.add(4, 1, "two", database_of(2), now_));
  EXPECT_EQ(*wishes_.ask(demand, *matches, now_), 6u);
}

TEST_F(WishesTest, MatchingEndsInTime) {
  const auto matches = Wishes::match(demand_of(".*"), wishes_.places(), Clock::now() - 1s);
  ASSERT_FALSE(matches);
  EXPECT_EQ(matches.error().message(),
            "trace .*: it takes too long to find these records: ask by a simpler pattern");
}

TEST_F(WishesTest, EachHolderHasAFewDemands) {
  for (int holder = 0; holder < 4; ++holder) {
    const std::string name = std::to_string(holder);
    for (std::size_t i = 0; i < Wishes::kMostOfOne; ++i) EXPECT_TRUE(ask(demand_of("A:1", name)));
    const auto more = ask(demand_of("A:1", name));
    ASSERT_FALSE(more);
    if (holder < 3) {
      EXPECT_EQ(more.error().message(),
                "trace A:1: 4 others of this user or address are traced already");
    }
  }
  EXPECT_EQ(ask(demand_of("A:1", "new")).error().message(),
            "trace A:1: 16 others are traced already");
  EXPECT_TRUE(wishes_.may_ask(demand_of("A:1", "new"), now_ + 10s));
}

TEST_F(WishesTest, ATicketEndsADemand) {
  EXPECT_TRUE(ask(demand_of("A:1", "local", "t")));
  EXPECT_TRUE(wishes_.end("other", "t"));
  EXPECT_TRUE(wishes_.end("local", "u"));
  EXPECT_TRUE(wishes_.end("local", ""));
  EXPECT_TRUE(wishes_.wants_all(3));
  EXPECT_TRUE(wishes_.end("local", "t"));
  EXPECT_FALSE(wishes_.wants_all(3));
}

TEST_F(WishesTest, WhatMakesNoSenseIsRefused) {
  Demand demand = demand_of("A:1");
  demand.cause = "weather";
  EXPECT_FALSE(wishes_.may_ask(demand, now_));
  demand.cause = "scan";
  EXPECT_TRUE(wishes_.may_ask(demand, now_));
  demand.lasts = 2h;
  EXPECT_FALSE(wishes_.may_ask(demand, now_));
}

}  // namespace
}  // namespace ioc_exporter::traces
