#include "puts/searches/udp_totals.h"

#include <gtest/gtest.h>

#include "puts/tap/connections.h"

namespace {

using namespace ioc_exporter;
using ca::CaUdpNames;
using ca::CaUdpTotals;
using Counts = CaUdpTotals::Counts;

constexpr bool kApart = true;

TEST(CaUdpTotals, WhatSeveralNamespacesSeeCountsOnce) {
  CaUdpTotals totals;
  totals.observe("10.0.0.7", false, 0, {23, 0});
  totals.observe("10.0.0.7", false, 3, {29, 1});
  EXPECT_EQ(totals.totals().at("10.0.0.7"), (Counts{29, 1}));
  totals.observe("10.0.0.7", false, 0, {31, 0});
  EXPECT_EQ(totals.totals().at("10.0.0.7"), (Counts{31, 1}));
}

TEST(CaUdpTotals, LoopbackIsAnotherOneInEachNamespace) {
  CaUdpTotals totals;
  totals.observe("127.0.0.1", kApart, 0, {23, 2});
  totals.observe("127.0.0.1", kApart, 3, {29, 3});
  EXPECT_EQ(totals.totals().at("127.0.0.1"), (Counts{52, 5}));
}

TEST(CaUdpTotals, ANamespaceThatGoesTakesNothingFromATotal) {
  CaUdpTotals totals;
  totals.observe("10.0.0.7", false, 0, {23, 0});
  totals.observe("10.0.0.7", false, 3, {29, 1});
  totals.observe("127.0.0.1", kApart, 0, {7, 0});
  totals.observe("127.0.0.1", kApart, 3, {11, 0});
  EXPECT_EQ(totals.remove_namespace(3), (Counts{0, 0}));
  EXPECT_EQ(totals.totals().at("10.0.0.7"), (Counts{29, 1}));
  EXPECT_EQ(totals.totals().at("127.0.0.1"), (Counts{18, 0}));
  totals.observe("10.0.0.7", false, 0, {25, 0});  // two more since
  EXPECT_EQ(totals.totals().at("10.0.0.7"), (Counts{31, 1}));
}

TEST(CaUdpTotals, WhatOnlyOneNamespaceKnewLeavesWithIt) {
  CaUdpTotals totals;
  totals.observe("10.0.0.7", false, 3, {29, 1});
  totals.observe("10.0.0.8", false, 3, {5, 0});
  totals.observe("10.0.0.9", false, 0, {3, 0});
  EXPECT_EQ(totals.remove_namespace(3), (Counts{34, 1}));
  EXPECT_EQ(totals.totals(), (std::map<std::string, Counts>{{"10.0.0.9", {3, 0}}}));
}

TEST(CaUdpTotals, ForgetsALabel) {
  CaUdpTotals totals;
  totals.observe("10.0.0.7", false, 0, {23, 2});
  EXPECT_EQ(totals.forget("10.0.0.7"), (Counts{23, 2}));
  EXPECT_EQ(totals.forget("10.0.0.7"), (Counts{0, 0}));
  EXPECT_TRUE(totals.totals().empty());
}

TEST(CaUdpTotals, TellsLoopbackAddresses) {
  EXPECT_TRUE(ca::is_loopback(ca::ca_address_v4({127, 0, 0, 1})));
  EXPECT_TRUE(ca::is_loopback(ca::ca_address_v4({127, 9, 0, 1})));
  EXPECT_FALSE(ca::is_loopback(ca::ca_address_v4({10, 0, 0, 127})));
  iocx_ca_address six{};
  six.bytes[15] = 1;
  EXPECT_TRUE(ca::is_loopback(six));
  six.bytes[0] = 0xFE;
  EXPECT_FALSE(ca::is_loopback(six));
}

iocx_ca_search_key key(std::uint8_t host, std::uint32_t cid, std::uint32_t net = 0,
                       std::uint16_t port = 40000) {
  iocx_ca_search_key key{};
  key.client = host == 0 ? ca::ca_address_v4({127, 0, 0, 1}) : ca::ca_address_v4({10, 0, 0, host});
  key.cid = cid;
  key.net = net;
  key.port = port;
  return key;
}
iocx_ca_search search(const std::string& name, std::uint64_t requests,
                      std::uint64_t first_ns = 1'000'000'000,
                      std::uint64_t last_ns = 3'000'000'000) {
  iocx_ca_search search{};
  search.requests = requests;
  search.first_ns = first_ns;
  search.last_ns = last_ns;
  name.copy(search.name, sizeof search.name - 1);
  return search;
}

TEST(CaUdpNames, AddsUpAClientsSocketsAndChannels) {
  CaUdpNames names;
  names.add(key(7, 1), search("NO:SUCH", 3, 4'000'000'000, 9'000'000'000));
  names.add(key(7, 2), search("NO:SUCH", 5, 2'000'000'000, 6'000'000'000));
  names.add(key(7, 1, 0, 40001), search("NO:SUCH", 11));
  names.add(key(8, 1), search("NO:SUCH", 7));
  const auto most = names.most(5, 20, 100.0);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0].client, "10.0.0.7");
  EXPECT_EQ(most[0].name, "NO:SUCH");
  EXPECT_EQ(most[0].requests, 19u);
  EXPECT_DOUBLE_EQ(most[0].first_time_seconds, 101.0);
  EXPECT_DOUBLE_EQ(most[0].last_time_seconds, 109.0);
  EXPECT_EQ(most[1].client, "10.0.0.8");
}

TEST(CaUdpNames, ListsOnlyTheMostSearched) {
  CaUdpNames names;
  for (std::uint32_t i = 1; i <= 31; ++i)
    names.add(key(7, i), search("PV:" + std::to_string(i), i));
  const auto most = names.most(5, 20, 0);
  ASSERT_EQ(most.size(), 20u);
  EXPECT_EQ(most.front().name, "PV:31");
  EXPECT_EQ(most.back().name, "PV:12");
  EXPECT_EQ(names.most(5, 100, 0).size(), 27u);
  EXPECT_EQ(names.most(32, 100, 0).size(), 0u);
}

TEST(CaUdpNames, NamespacesThatSeeTheSameSearchDoNotAddUp) {
  CaUdpNames names;
  names.add(key(7, 1, 0), search("A", 5));
  names.add(key(7, 1, 3), search("A", 7));
  names.add(key(0, 1, 0), search("B", 5));  // loopback: two clients
  names.add(key(0, 1, 3), search("B", 7));
  const auto most = names.most(5, 20, 0);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0].name, "B");
  EXPECT_EQ(most[0].requests, 12u);
  EXPECT_EQ(most[1].requests, 7u);
}

}  // namespace
