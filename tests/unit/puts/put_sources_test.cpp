#include "puts/put_sources.h"

#include <gtest/gtest.h>

namespace ioc_exporter::ca {
namespace {

constexpr std::uint32_t kIoc = 3, kOther = 4;

struct CaPutSourcesTest : ::testing::Test {
  std::pair<std::uint64_t, std::uint64_t> bounds(std::uint32_t ioc = kIoc) const {
    const auto all = sources_.switched();
    const auto found = all.find(ioc);
    if (found == all.end()) return {0, 0};
    return {found->second.missing, found->second.twice};
  }

  CaPutSources sources_;
};

using Bounds = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(CaPutSourcesTest, PacketsCountUntilTheServerDoes) {
  sources_.saw(kIoc, 23);
  EXPECT_FALSE(sources_.is_server(kIoc, 5064));
  EXPECT_TRUE(sources_.switched().empty());
  sources_.look();
  sources_.look();
  sources_.begin_switch({});
  sources_.to_server(kIoc, false);
  EXPECT_TRUE(sources_.is_server(kIoc, 5064));
  EXPECT_EQ(bounds(), Bounds(0, 0)) << "all was served long ago";
  EXPECT_FALSE(sources_.is_server(kOther, 5064));
}

// What was sent before is counted by nobody; packets count where it cannot be probed.
TEST_F(CaPutSourcesTest, BeforeAServerIsProbedNobodyCounts) {
  using Counts = CaPutSources::Counts;
  EXPECT_EQ(sources_.packets_since(kIoc), 0u);
  for (const std::uint32_t ioc : {kIoc, kOther}) {
    sources_.expect_server(ioc);
    EXPECT_EQ(sources_.counts(ioc, 5064, 1), Counts::nobody);
    EXPECT_EQ(sources_.counts_results(ioc, 5064, 1), Counts::nobody);
    EXPECT_EQ(sources_.packets_since(ioc), UINT64_MAX);
    sources_.saw(ioc, 23);
    sources_.add_missing(ioc, 23);
  }
  sources_.saw_process(kIoc, 9);
  sources_.begin_switch({});
  sources_.saw(kIoc, 7);
  sources_.to_server(kIoc, true);
  EXPECT_EQ(bounds(), Bounds(23, 0)) << "packets have counted none, so that none counts twice";
  EXPECT_EQ(sources_.counts(kIoc, 5064, 1), Counts::server);
  EXPECT_EQ(sources_.packets_since(kIoc), UINT64_MAX);
  sources_.leave_server(kIoc, 11);
  EXPECT_EQ(sources_.packets_since(kIoc), 11u);

  sources_.expect_none(kOther, 7);
  EXPECT_EQ(sources_.counts(kOther, 5064, 1), Counts::packets);
  EXPECT_EQ(sources_.packets_since(kOther), 7u);
}

TEST_F(CaPutSourcesTest, OnlyTheServersOwnPortIsTheServers) {
  sources_.to_server(kIoc, false);
  sources_.set_port(kIoc, 5064);
  EXPECT_TRUE(sources_.is_server(kIoc, 5064));
  EXPECT_FALSE(sources_.is_server(kIoc, 5066));
}

TEST_F(CaPutSourcesTest, ResultsAreTheServersWhereItTellsThemAndThePuts) {
  sources_.set_port(kIoc, 5064);
  sources_.to_server(kIoc, true);
  sources_.to_server(kOther, false);
  EXPECT_TRUE(sources_.server_tells_results(kIoc, 5064));
  EXPECT_FALSE(sources_.server_tells_results(kIoc, 5066)) << "another server's";
  EXPECT_FALSE(sources_.server_tells_results(kOther, 5064)) << "packets tell them";
  sources_.leave_server(kIoc);
  EXPECT_FALSE(sources_.server_tells_results(kIoc, 5064));
  sources_.to_server(kIoc, false);
  EXPECT_FALSE(sources_.server_tells_results(kIoc, 5064));
}

TEST_F(CaPutSourcesTest, PutsWithoutNamesAreMissingWhileTheServerDoesNotTellOfThem) {
  sources_.to_server(kIoc, true);
  sources_.saw_unnamed(kIoc, 23);
  EXPECT_EQ(bounds(), Bounds(0, 0));
  sources_.leave_server(kIoc);
  sources_.saw_unnamed(kIoc, 42);
  EXPECT_EQ(bounds(), Bounds(19, 0));
}

TEST_F(CaPutSourcesTest, PutsThatArriveWhileProbesAreAttachedMayCountTwice) {
  sources_.saw(kIoc, 1009);
  sources_.look();
  sources_.look();
  sources_.begin_switch({});
  sources_.saw(kIoc, 7);
  sources_.to_server(kIoc, false);
  EXPECT_EQ(bounds(), Bounds(0, 7));
}

TEST_F(CaPutSourcesTest, PutsThatTheServerHasNotReadMayCountTwice) {
  sources_.saw(kIoc, 1009);
  sources_.look();
  sources_.look();
  sources_.begin_switch({{kIoc, {16 * 11, 1}}});
  sources_.to_server(kIoc, false);
  EXPECT_EQ(bounds(), Bounds(0, 11));
}

TEST_F(CaPutSourcesTest, BytesThatCameLatelyMayBeReadAndNotServed) {
  sources_.saw(kIoc, 1009);
  sources_.look();
  sources_.look();
  sources_.saw(kIoc, 5);
  sources_.begin_switch({{kIoc, {0, 1}}});
  sources_.to_server(kIoc, false);
  EXPECT_EQ(bounds(), Bounds(0, 5));
}

TEST_F(CaPutSourcesTest, NoMoreThanAServerReadsAhead) {
  sources_.saw(kIoc, 100'000);
  sources_.begin_switch({{kIoc, {0, 2}}});
  sources_.to_server(kIoc, false);
  EXPECT_EQ(bounds(), Bounds(0, 2 * CaPutSources::kReadAhead));
}

TEST_F(CaPutSourcesTest, NoMoreThanPacketsHaveShown) {
  sources_.saw(kIoc, 3);
  sources_.begin_switch({{kIoc, {16 * 1000, 1}}});
  sources_.to_server(kIoc, false);
  EXPECT_EQ(bounds(), Bounds(0, 3));
  sources_.saw(kIoc, 2);
  sources_.begin_switch({{kIoc, {16 * 1000, 1}}});
  sources_.leave_server(kIoc);
  sources_.end_switch();
  EXPECT_EQ(bounds(), Bounds(2, 3));
}

TEST_F(CaPutSourcesTest, OnTheWayBackUnservedPutsAreMissing) {
  sources_.to_server(kIoc, false);
  sources_.saw(kIoc, 1009);
  sources_.look();
  sources_.look();
  sources_.begin_switch({{kIoc, {16 * 13, 1}}});
  sources_.leave_server(kIoc);
  EXPECT_FALSE(sources_.is_server(kIoc, 5064)) << "packets count before the probes are off";
  sources_.saw(kIoc, 17);
  sources_.end_switch();
  EXPECT_EQ(bounds(), Bounds(13, 17));
  sources_.saw(kIoc, 19);
  sources_.end_switch();
  EXPECT_EQ(bounds(), Bounds(13, 17)) << "that switch is over";
}

TEST_F(CaPutSourcesTest, CircuitsThatBeganAfterTheEndOfTheProcessAreThePackets) {
  using Counts = CaPutSources::Counts;
  constexpr std::uint64_t seen = 1000, end = 1001, later = 1002;
  EXPECT_EQ(sources_.counts(kIoc, 5064, later), Counts::packets);
  sources_.to_server(kIoc, true);
  sources_.saw_processes(seen);
  EXPECT_EQ(sources_.counts(kIoc, 5064, seen), Counts::server);
  EXPECT_EQ(sources_.counts(kIoc, 5064, end), Counts::not_known_yet);
  EXPECT_EQ(sources_.counts_results(kIoc, 5064, later), Counts::not_known_yet);
  sources_.process_ended(kIoc, end);
  EXPECT_EQ(sources_.counts(kIoc, 5064, end), Counts::server);
  EXPECT_EQ(sources_.counts(kIoc, 5064, later), Counts::not_known_yet);
  sources_.saw(kIoc, 23);
  sources_.look();
  sources_.look();
  sources_.begin_switch({{kIoc, {16 * 7, 1}}});
  sources_.leave_server(kIoc);
  sources_.saw(kIoc, 19);
  sources_.end_switch();
  EXPECT_EQ(sources_.counts(kIoc, 5064, later), Counts::packets);
  EXPECT_EQ(bounds(), Bounds(0, 0)) << "what is not served is another process'";
  sources_.to_server(kIoc, true);
  EXPECT_EQ(bounds(), Bounds(0, 26)) << "that one may serve them now";
  sources_.process_ended(kIoc, 0);
  EXPECT_EQ(sources_.counts(kIoc, 5064, later), Counts::nobody);
}

TEST_F(CaPutSourcesTest, AnotherIocsSwitchChangesNothing) {
  sources_.to_server(kOther, false);
  sources_.saw(kIoc, 23);
  sources_.begin_switch({});
  sources_.leave_server(kOther);
  sources_.end_switch();
  EXPECT_EQ(bounds(), Bounds(0, 0));
  sources_.forget(kOther);
  EXPECT_TRUE(sources_.switched().empty());
}

}  // namespace
}  // namespace ioc_exporter::ca
