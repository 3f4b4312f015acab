#include "ca/put_ledger.h"

#include <gtest/gtest.h>

namespace ioc_exporter::ca {
namespace {

using std::chrono::seconds;
using Clock = CaPutLedger::Clock;

constexpr std::uint32_t kIoc = 7;

class CaPutLedgerTest : public ::testing::Test {
 protected:
  static CaPutPlace place(std::uint32_t sid, std::uint16_t port = 40000) {
    CaPutPlace place;
    place.ioc = kIoc;
    place.sid = sid;
    place.port = port;
    return place;
  }
  static CaPutLabels labels(const std::string& user = "operator") {
    return {kIoc, "PV", "10.0.0.7", user, "console1"};
  }
  // Puts that the tap counts.
  std::uint64_t tap(std::uint32_t sid, std::uint64_t puts) {
    ledger_.tap_saw(place(sid), {puts, 0}, nullptr, false, now_);
    return ledger_.tap_counts(place(sid)) ? puts : 0;
  }
  // Puts that count by the server's word.
  std::uint64_t server(std::uint32_t sid, std::uint64_t puts) {
    return ledger_.server_saw(place(sid), {puts, 0}, labels(), now_) ? puts : 0;
  }
  void later(seconds time) {
    now_ += time;
    ledger_.look(now_);
  }
  void begin(const std::vector<CaPutLedger::Before>& before = {}) {
    std::vector<CaPutPlace> connections;
    for (const auto& one : before) connections.push_back(one.place);
    ledger_.begin(kIoc, before, connections, now_);
  }
  std::pair<std::uint64_t, std::uint64_t> told() const {
    std::uint64_t unseen = 0, invented = 0;
    for (const CaDisagreement& one : ledger_.disagreements()) {
      unseen += one.unseen;
      invented += one.invented;
    }
    return {unseen, invented};
  }
  using Pair = std::pair<std::uint64_t, std::uint64_t>;

  CaPutLedger ledger_;
  Clock::time_point now_{seconds(1000)};
};

TEST_F(CaPutLedgerTest, WithoutTheServersWordTheTapCounts) {
  EXPECT_EQ(tap(1, 5), 5u);
  EXPECT_EQ(server(1, 5), 0u);
}

TEST_F(CaPutLedgerTest, TheServersWordCountsOnce) {
  begin();
  EXPECT_EQ(tap(1, 23) + server(1, 23), 23u);
  later(seconds(100));
  EXPECT_EQ(told(), Pair(0, 0));
  EXPECT_EQ(ledger_.places(), 0u);
}

// A put that travelled before begin() and is served after it.
TEST_F(CaPutLedgerTest, AChannelThatIsBusyIsTakenOverWhenItIsQuiet) {
  std::uint64_t shown = tap(1, 10);  // of which the server has done 7
  begin({{place(1), now_}});
  shown += server(1, 3);
  later(seconds(1));
  shown += tap(1, 5) + server(1, 5);
  EXPECT_EQ(shown, 15u);
  later(seconds(2));
  shown += tap(1, 4) + server(1, 4);
  EXPECT_EQ(shown, 19u);
  later(seconds(60));
  EXPECT_EQ(told(), Pair(0, 0));
}

TEST_F(CaPutLedgerTest, AChannelThatWasQuietIsTakenOverAtOnce) {
  begin({{place(1), now_ - seconds(60)}});
  EXPECT_EQ(tap(1, 5), 0u);
  EXPECT_EQ(server(1, 5), 5u);
}

TEST_F(CaPutLedgerTest, AChannelThatIsNeverQuietIsTakenOverAllTheSame) {
  begin({{place(1), now_}});
  for (int i = 0; i < 59; ++i) {
    tap(1, 2);
    EXPECT_EQ(server(1, 2), 0u);
    later(seconds(1));
  }
  tap(1, 3);
  server(1, 2);
  later(seconds(1));
  EXPECT_EQ(server(1, 2), 2u);
  EXPECT_EQ(ledger_.unsettled(), 1u);
}

TEST_F(CaPutLedgerTest, WhatTheTapHasNotSeenIsToldOfItsClient) {
  begin();
  tap(1, 1);
  server(1, 51);
  later(seconds(1));
  EXPECT_EQ(told(), Pair(0, 0));
  later(seconds(1));
  EXPECT_EQ(told(), Pair(50, 0));
  later(seconds(100));
  EXPECT_EQ(told(), Pair(50, 0));
  const CaDisagreement::Who who{kIoc, "10.0.0.7", "operator", "console1"};
  ASSERT_EQ(ledger_.disagreements().size(), 1u);
  EXPECT_EQ(ledger_.disagreements()[0].who, who);
}

// Whoever hides behind what he invents does not come out even.
TEST_F(CaPutLedgerTest, ChannelsAreComparedEachForItself) {
  begin();
  tap(1, 50);
  server(2, 50);
  later(seconds(2));
  EXPECT_EQ(told(), Pair(50, 0));
  later(seconds(13));
  EXPECT_EQ(told(), Pair(50, 50));
}

TEST_F(CaPutLedgerTest, AServerThatIsHeldUpDisagreesNoMoreWhenItGoesOn) {
  begin();
  server(1, 1);
  tap(1, 8);
  later(seconds(14));
  EXPECT_EQ(told(), Pair(0, 0));
  later(seconds(1));
  EXPECT_EQ(told(), Pair(0, 7));
  later(seconds(100));
  server(1, 7);
  later(seconds(20));
  EXPECT_EQ(told(), Pair(0, 7));
}

// The tap still looks for where messages begin.
TEST_F(CaPutLedgerTest, WhatTheServerThrewAwayIsNoDisagreement) {
  begin();
  tap(1, 23);
  server(1, 20);
  ledger_.server_refused(place(1), 3, now_);
  // It says so before all of it has come.
  ledger_.server_refused(place(2), 1, now_);
  tap(2, 7);
  server(2, 7);
  later(seconds(3));
  tap(2, 1);
  later(seconds(100));
  EXPECT_EQ(told(), Pair(0, 0));
  EXPECT_EQ(ledger_.places(), 0u);
  // Who has something thrown away hides nothing behind it.
  tap(1, 5);
  ledger_.server_refused(place(1), 5, now_);
  server(1, 2);
  later(CaPutLedger::kPatience);
  EXPECT_EQ(told(), Pair(2, 0));
  tap(1, 9);
  ledger_.server_refused(place(1), 4, now_);
  server(1, 2);
  EXPECT_EQ(ledger_.end(kIoc).at(0).puts[0], 3u);
}

TEST_F(CaPutLedgerTest, OldConnectionsAreForgivenAtFirst) {
  begin({{place(1), now_ - seconds(60)}});
  server(2, 9);
  later(seconds(2));
  EXPECT_EQ(told(), Pair(0, 0));
  ledger_.server_saw(place(3, 40001), {5, 0}, labels(), now_);  // a new one
  later(seconds(2));
  EXPECT_EQ(told(), Pair(5, 0));
  later(seconds(30));
  server(2, 4);
  later(seconds(2));
  EXPECT_EQ(told(), Pair(9, 0));
}

TEST_F(CaPutLedgerTest, WhatIsUnderWayAtTheEndIsTheTaps) {
  begin();
  std::uint64_t shown = tap(1, 10) + server(1, 7);
  tap(2, 4);
  server(2, 4);
  const auto owed = ledger_.end(kIoc);
  ASSERT_EQ(owed.size(), 1u);
  EXPECT_EQ(owed[0].place, place(1));
  EXPECT_EQ(owed[0].puts, (CaPuts{3, 0}));
  EXPECT_EQ(tap(1, 6), 6u);
  shown += owed[0].puts[0] + 6;
  EXPECT_EQ(shown, 16u);
}

TEST_F(CaPutLedgerTest, WhatStillSettlesAtTheEndWasCounted) {
  begin({{place(1), now_}});
  EXPECT_EQ(tap(1, 10), 10u);
  server(1, 4);
  EXPECT_TRUE(ledger_.end(kIoc).empty());
}

TEST_F(CaPutLedgerTest, PutsToAnotherServerOfTheProcessAreTheTaps) {
  begin();
  EXPECT_TRUE(ledger_.is_witnessed(kIoc, 5064));
  ledger_.set_port(kIoc, 5064);
  EXPECT_TRUE(ledger_.is_witnessed(kIoc, 5064));
  EXPECT_FALSE(ledger_.is_witnessed(kIoc, 5080));
}

TEST_F(CaPutLedgerTest, PutsOfNobodyInParticularAreNoDisagreement) {
  begin();
  tap(1, 9);
  server(1, 5);
  ledger_.pass_over(kIoc);
  later(seconds(60));
  EXPECT_EQ(told(), Pair(0, 0));
}

TEST_F(CaPutLedgerTest, ManyClientsThatHideAreToldTogether) {
  begin();
  for (std::uint32_t i = 0; i < CaPutLedger::kMostDisagreements + 10; ++i)
    ledger_.server_saw(place(i), {1, 0}, labels("user" + std::to_string(i)), now_);
  later(seconds(2));
  EXPECT_EQ(ledger_.disagreements().size(), CaPutLedger::kMostDisagreements + 1);
  EXPECT_EQ(told(), Pair(CaPutLedger::kMostDisagreements + 10, 0));
  ledger_.forget(kIoc);
  EXPECT_TRUE(ledger_.disagreements().empty());
}

}  // namespace
}  // namespace ioc_exporter::ca
