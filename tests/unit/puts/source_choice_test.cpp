#include "puts/source_choice.h"

#include <gtest/gtest.h>

namespace ioc_exporter::puts {
namespace {

constexpr ServerKey kIoc{3, Protocol::ca}, kOther{3, Protocol::pva};
constexpr auto kSettle = static_cast<std::uint64_t>(SourceChoice::kSettle.count());

struct SourceChoiceTest : ::testing::Test {
  using Source = SourceChoice::Source;
  std::pair<std::uint64_t, std::uint64_t> packets(const ServerKey& server = kIoc) const {
    const auto window = who_.packets(server);
    return {window.from_ns, window.until_ns};
  }

  SourceChoice who_;
};
using Window = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(SourceChoiceTest, PacketsCountUnlessAServerIsProbed) {
  EXPECT_TRUE(who_.by_packets(kIoc));
  EXPECT_TRUE(who_.results_by_packets(kIoc));
  EXPECT_EQ(packets(), Window(0, UINT64_MAX));
  who_.begin_packets(kIoc, 7);
  EXPECT_EQ(packets(), Window(0, UINT64_MAX)) << "they have counted before";
  EXPECT_TRUE(who_.switches().empty());
}

TEST_F(SourceChoiceTest, BeforeAServerIsProbedNobodyCounts) {
  for (const ServerKey& ioc : {kIoc, kOther}) {
    who_.begin_nobody(ioc, 5);
    EXPECT_EQ(who_.source(ioc), Source::nobody);
    EXPECT_FALSE(who_.results_by_packets(ioc));
    EXPECT_EQ(packets(ioc), Window(0, 0));
    EXPECT_TRUE(who_.is_settled(ioc, kSettle)) << "packets have counted nothing";
  }
  who_.begin_server(kIoc, true, 3);
  EXPECT_EQ(who_.source(kIoc), Source::server);
  EXPECT_EQ(packets(), Window(0, 0));
  who_.begin_packets(kOther, 7);  // it could not be probed
  EXPECT_EQ(packets(kOther), Window(7, UINT64_MAX));
  EXPECT_EQ(who_.switches(), (std::map<ServerKey, std::uint64_t>{{kIoc, 0}, {kOther, 0}}));
}

TEST_F(SourceChoiceTest, WhatPacketsHaveCountedIsServedBeforeTheServerCounts) {
  who_.begin_nobody(kIoc, 5);
  who_.begin_server(kIoc, true, 3);
  who_.begin_packets(kIoc, 11);
  EXPECT_FALSE(who_.is_settled(kIoc, 11 + kSettle)) << "packets count";
  who_.begin_nobody(kIoc, 23);
  who_.begin_nobody(kIoc, 29);
  EXPECT_EQ(packets(), Window(11, 23));
  EXPECT_FALSE(who_.is_settled(kIoc, 22));
  EXPECT_FALSE(who_.is_settled(kIoc, 22 + kSettle));
  EXPECT_TRUE(who_.is_settled(kIoc, 23 + kSettle));
  who_.begin_server(kIoc, true, 3);
  EXPECT_EQ(who_.switches().at(kIoc), 2u);
  who_.begin_nobody(kIoc, 31);  // another process
  who_.begin_server(kIoc, true, 3);
  EXPECT_EQ(who_.switches().at(kIoc), 2u);
  who_.begin_packets(kIoc, 37);
  who_.begin_packets(kIoc, 41);
  EXPECT_EQ(who_.switches().at(kIoc), 3u);
  who_.begin_nobody(kIoc, 43);
  who_.begin_packets(kIoc, 47);  // it was stopped again
  EXPECT_EQ(who_.switches().at(kIoc), 4u);
  who_.forget(kIoc);
  EXPECT_TRUE(who_.switches().empty());
}

TEST_F(SourceChoiceTest, ResultsAreThePacketsWhereTheServerDoesNotTellThem) {
  who_.begin_server(kIoc, false, 3);
  EXPECT_FALSE(who_.by_packets(kIoc));
  EXPECT_TRUE(who_.results_by_packets(kIoc));
  who_.begin_server(kIoc, true, 3);
  EXPECT_FALSE(who_.results_by_packets(kIoc));
}

TEST_F(SourceChoiceTest, SinceWhenWithoutAGap) {
  EXPECT_EQ(who_.counted_since(kIoc), 0u);
  who_.begin_packets(kIoc, 5);
  EXPECT_EQ(who_.counted_since(kIoc), 0u);
  who_.begin_nobody(kIoc, 7);
  EXPECT_EQ(who_.counted_since(kIoc), std::nullopt);
  who_.begin_server(kIoc, true, 11);
  EXPECT_EQ(who_.counted_since(kIoc), 11u);
  who_.begin_packets(kIoc, 13);
  EXPECT_EQ(who_.counted_since(kIoc), 13u);
}

}  // namespace
}  // namespace ioc_exporter::puts
