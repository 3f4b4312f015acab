#include "ca/relays.h"

#include <gtest/gtest.h>

namespace {

using namespace ioc_exporter::ca;

constexpr std::uint64_t kClients = 1, kServers = 2;

class CaRelaysTest : public testing::Test {
 protected:
  // A circuit to a listener that may be a forwarder, and one to an IOC.
  std::vector<CaRelayCircuit> circuits{circuit(kClients, true, 10), circuit(kServers, false, 20)};
  std::vector<std::uint64_t> same{kServers};

  static CaRelayCircuit circuit(std::uint64_t id, bool candidate, std::uint64_t since) {
    return {id, candidate, false, true, false, since, {1000, 2000}};
  }
  bool look() {
    relays_.look(circuits, [this](std::uint64_t) { return same; });
    return relays_.may_be_relay(kClients);
  }
  void carry(std::size_t which, std::uint64_t to_server, std::uint64_t to_client) {
    circuits[which].bytes[0] += to_server;
    circuits[which].bytes[1] += to_client;
  }
  // Looks until it is no forwarder's, `most` at most.
  int looks_until_no_relay(int most) {
    for (int n = 1; n <= most; ++n)
      if (!look()) return n;
    return most + 1;
  }

  CaRelays relays_;
};

TEST_F(CaRelaysTest, TheSameChannelsAndBytesElsewhere) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(look()) << i;
    carry(0, 24, 16);
    carry(1, 24, 16);
  }
}

TEST_F(CaRelaysTest, BytesMayBeUnderWay) {
  carry(0, 100, 0);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(look()) << i;
    carry(0, 100, 40);
    carry(1, 100, 40);
  }
}

TEST_F(CaRelaysTest, OfManyThatLookAlikeTheNearestInTimeAreCompared) {
  const std::uint64_t count = CaRelays::kMostPairs + 1000;
  same.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    circuits.push_back(circuit(100 + i, false, 30 + i));
    same.push_back(100 + i);
  }
  same.push_back(kServers);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(look()) << i;
    carry(0, 24, 16);
    carry(1, 24, 16);
  }
}

TEST_F(CaRelaysTest, NothingIsToldBeforeThereAreChannels) {
  circuits[0].channels = false;
  same.clear();
  EXPECT_TRUE(look());
  circuits[0].channels = true;
  EXPECT_FALSE(look()) << "nobody else has them: a server";
}

TEST_F(CaRelaysTest, AGatewayWithTheSameNumbersCarriesOtherBytes) {
  carry(1, 16, 0);  // it subscribes
  ASSERT_TRUE(look());
  EXPECT_LE(looks_until_no_relay(10), 3);
}

TEST_F(CaRelaysTest, WhatTheClientSendsAndTheOtherDoesNotCarryGoesToAServer) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(look());
    carry(0, 24, 0);
    carry(1, 24, 0);
  }
  carry(0, 24, 0);
  EXPECT_LE(looks_until_no_relay(30), CaRelays::kMissesOnceSure + 1);
}

TEST_F(CaRelaysTest, OfTwoUnknownServersTheLaterCircuitIsTheServers) {
  circuits[1].candidate = true;
  same = {kServers, kClients};
  EXPECT_TRUE(look());
  EXPECT_FALSE(relays_.may_be_relay(kServers));
}

TEST_F(CaRelaysTest, WhatHasEndedStaysWhatItWas) {
  for (auto& one : circuits) one.ended = true;
  ASSERT_TRUE(look());
  ASSERT_TRUE(look());
  circuits.pop_back();
  EXPECT_EQ(looks_until_no_relay(40), 41);
}

TEST_F(CaRelaysTest, OpenBeforeTheTapByWhatGoesBy) {
  circuits[0].joined = circuits[1].joined = true;
  circuits[0].bytes = {7, 9};  // since they were seen
  same.clear();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(look()) << i;
    carry(0, 240, 0);
    carry(1, 240, 0);
  }
  circuits[1].bytes = {0, 0};
  circuits.push_back(circuit(3, true, 10));
  circuits.back().joined = true;
  look();
  for (int i = 0; i < CaRelays::kMisses; ++i) {
    circuits.back().bytes[0] += 24;
    look();
  }
  EXPECT_FALSE(relays_.may_be_relay(3)) << "nothing else carries what this one does";
}

// Each of those that were open before the tap may be passed on as any other, while nothing goes by.
TEST_F(CaRelaysTest, IdleCircuitsFromBeforeTheTapAreComparedWithinBounds) {
  constexpr std::uint64_t kFit = CaRelays::kMostPairsInAll / CaRelays::kMostPairs;
  circuits.clear();
  for (std::uint64_t i = 0; i < CaRelays::kMostPairs; ++i) {
    circuits.push_back(circuit(10'000 + i, false, 10));
    circuits.back().joined = true;
  }
  for (std::uint64_t i = 1; i <= kFit + 1; ++i) {
    circuits.push_back(circuit(i, true, 10));
    circuits.back().joined = true;
  }
  look();
  EXPECT_TRUE(relays_.may_be_relay(1));
  EXPECT_TRUE(relays_.may_be_relay(kFit));
  EXPECT_FALSE(relays_.may_be_relay(kFit + 1));
}

}  // namespace
