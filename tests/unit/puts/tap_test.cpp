// The user-space side of the tap: totals, addresses, connections. The tap itself: tests/bpf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "puts/tap/connections.h"
#include "puts/totals/put_totals.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::puts;

PutLabels labels(std::uint32_t ioc, const std::string& pv, const std::string& user = "u") {
  return {ioc, pv, "10.0.0.7", user, "h"};
}

using Lines = std::vector<std::string>;
Lines puts_of(const PutTotals& totals) {
  Lines lines;
  for (const PutCount& put : totals.counts())
    lines.push_back(std::to_string(put.labels.ioc) + " " + put.labels.pv +
                    (put.op == PutOp::write ? " write " : " write_notify ") +
                    std::to_string(put.count));
  return lines;
}

TEST(PutTotals, AddsNewCounts) {
  PutTotals totals(10);
  totals.open(3, 100, labels(1, "A"));
  EXPECT_TRUE(totals.is_open(3, 100));
  EXPECT_FALSE(totals.is_open(3, 101));
  totals.observe(3, {5, 0});
  totals.observe(3, {5, 2});
  totals.observe(3, {23, 2});
  EXPECT_EQ(puts_of(totals), (Lines{"1 A write 23", "1 A write_notify 2"}));
}

TEST(PutTotals, KnowsWhenThereWasNoPutYet) {
  PutTotals totals(10);
  totals.open(3, 100, labels(1, "A"));
  totals.observe(3, {5, 0});
  totals.note_reading(1'000);
  totals.note_reading(2'000);
  totals.observe(3, {6, 1});
  const auto counts = totals.counts();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].created_ns, 0u) << "nobody had read before";
  EXPECT_EQ(counts[1].created_ns, 2'000u);
}

TEST(PutTotals, ChannelsOfTheSameLabelsAddUpAndOutliveTheirSlot) {
  PutTotals totals(10);
  totals.open(1, 100, labels(1, "A"));
  totals.open(2, 101, labels(1, "A"));
  totals.observe(1, {5, 0});
  totals.observe(2, {7, 0});
  totals.close(1);
  totals.open(1, 102, labels(1, "A"));  // the slot again: its counters start from 0
  totals.observe(1, {1, 0});
  EXPECT_EQ(puts_of(totals), Lines{"1 A write 13"});
}

TEST(PutTotals, OpeningAUsedSlotClosesIt) {
  PutTotals totals(10);
  totals.open(1, 100, labels(1, "A"));
  totals.observe(1, {5, 0});
  totals.open(1, 101, labels(1, "B"));
  totals.observe(1, {2, 0});
  EXPECT_EQ(puts_of(totals), (Lines{"1 A write 5", "1 B write 2"}));
}

TEST(PutTotals, CountsPutsOverTheLimit) {
  PutTotals totals(2);
  for (const char* pv : {"A", "B"}) totals.add(0, labels(1, pv), {1, 0}, 1);
  totals.open(3, 102, labels(1, "C"));
  totals.observe(3, {23, 0});
  totals.observe(3, {24, 1});
  totals.add(0, labels(1, "D"), {2, 0}, 1);
  EXPECT_EQ(totals.overflowed(), 27u);
  // The policy judges them until they have been read once after their channel has gone.
  const auto hidden = [&totals] {
    std::map<std::string, std::uint64_t> all;
    for (const PutCount& put : totals.counts()) {
      EXPECT_EQ(put.count == 0, put.hidden > 0);
      if (put.hidden > 0) all[put.labels.pv] += put.hidden;
    }
    return all;
  };
  using Hidden = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(hidden(), (Hidden{{"C", 25}, {"D", 2}}));
  totals.note_reading(2);
  EXPECT_EQ(hidden(), (Hidden{{"C", 25}}));
  totals.close(3);
  EXPECT_EQ(hidden(), (Hidden{{"C", 25}}));
  const auto serial = totals.counts().back().serial;
  totals.note_reading(3);
  EXPECT_EQ(hidden(), Hidden());
  totals.add(0, labels(1, "C"), {1, 0}, 4);
  EXPECT_NE(totals.counts().back().serial, serial);
  totals.note_reading(4);
  EXPECT_FALSE(totals.knows({1}, "D"));
  totals.open(4, 103, labels(1, "A"));  // known labels are no more series
  totals.observe(4, {2, 0});
  EXPECT_EQ(totals.counts()[0].count, 3u);
}

// An archiver has tens of thousands of channels and never writes.
TEST(PutTotals, ChannelsWithoutPutsTakeNoRoomAndLeaveNothing) {
  PutTotals totals(8);
  for (std::uint32_t slot = 0; slot < 100; ++slot)
    totals.open(slot, slot, labels(1, "R" + std::to_string(slot % 50)));
  EXPECT_EQ(totals.series(), 0u);
  totals.open(200, 200, labels(1, "A"));
  totals.observe(200, {23, 0});
  EXPECT_EQ(totals.overflowed(), 0u);
  totals.close(7);
  EXPECT_TRUE(totals.knows({1}, "R7"));
  totals.close(57);
  EXPECT_FALSE(totals.knows({1}, "R7"));
  EXPECT_EQ(totals.series(), 1u);
  EXPECT_EQ(puts_of(totals), Lines{"1 A write 23"});
}

TEST(PutTotals, RelabelledChannelsLeaveTheirCountsBehind) {
  PutTotals totals(10);
  totals.open(1, 100, labels(1, "A"));
  totals.observe(1, {5, 1});
  totals.relabel(1, labels(2, "A"));
  totals.observe(1, {8, 1});
  totals.forget(1);
  EXPECT_TRUE(totals.is_open(1, 100));
  EXPECT_EQ(puts_of(totals), Lines{"2 A write 3"});
  totals.relabel(2, labels(2, "B"));  // not open
  EXPECT_EQ(totals.series(), 1u);
}

TEST(PutTotals, KnowsWhenTheLastPutWas) {
  PutTotals totals(10);
  totals.open(1, 100, labels(1, "A"));
  totals.open(2, 101, labels(1, "A"));
  totals.observe(1, {5, 0}, 1000);
  totals.observe(2, {5, 0}, 900);
  totals.observe(1, {5, 2}, 2001);  // a put-callback
  totals.observe(1, {5, 2}, 4000);  // nothing new
  totals.open(3, 102, labels(1, "B"));
  totals.observe(3, {5, 0}, 1000);
  totals.observe(3, {6, 1}, 3001);  // a write, then a put-callback: not the time of one before
  std::vector<std::uint64_t> times;
  for (const PutCount& put : totals.counts()) times.push_back(put.last_ns);
  EXPECT_EQ(times, (std::vector<std::uint64_t>{1000, 2000, 3000, 3000}));
}

TEST(PutTotals, CountsUnnamedPutsOfServers) {
  PutTotals totals(10);
  totals.open(PutTotals::server_slots(Protocol::ca) | 1, 100, labels(1, ""));
  totals.open(PutTotals::server_slots(Protocol::ca) | 2, 101, labels(1, "A"));
  totals.open(3, 102, labels(1, ""));
  totals.observe(PutTotals::server_slots(Protocol::ca) | 1, {5, 2});
  totals.observe(PutTotals::server_slots(Protocol::ca) | 2, {7, 0});
  totals.observe(3, {11, 0});
  EXPECT_EQ(totals.unnamed_by_server(), 7u);
  totals.forget(1);
  EXPECT_EQ(totals.unnamed_by_server(), 7u);
}

TEST(PutTotals, TellsTheLabelsOfAChannel) {
  PutTotals totals(1);
  totals.open(1, 100, labels(1, "A"));
  ASSERT_NE(totals.labels(1, 100), nullptr);
  EXPECT_EQ(*totals.labels(1, 100), labels(1, "A"));
  EXPECT_EQ(totals.labels(1, 101), nullptr);
  EXPECT_EQ(totals.labels(3, 100), nullptr);
  totals.forget(1);
  EXPECT_EQ(totals.labels(1, 100), nullptr);
}

TEST(PutTotals, SeriesWithoutNewPutsExpire) {
  PutTotals totals(10);
  totals.open(0, 1, {1, "A", "c", "u", "h"});
  totals.open(1, 2, {1, "A", "c2", "u", "h"});
  totals.open(2, 3, {1, "B", "c", "u", "h"});
  totals.observe(0, {23, 0}, 1000);
  totals.observe(1, {7, 0}, 2000);
  totals.observe(2, {5, 0}, 1000);
  EXPECT_TRUE(totals.expire(5000).empty());  // all have their channels
  totals.close(0);
  totals.close(1);
  const auto expired = totals.expire(2000);
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].client, "c");
  EXPECT_TRUE(totals.knows({1}, "A"));  // by the other client
  EXPECT_EQ(totals.expire(2001).size(), 1u);
  EXPECT_FALSE(totals.knows({1}, "A"));
  EXPECT_TRUE(totals.knows({1}, "B"));
  EXPECT_FALSE(totals.knows({2}, "B"));
  // A client that comes back begins anew.
  totals.open(0, 4, {1, "A", "c", "u", "h"});
  totals.observe(0, {2, 0}, 9000);
  EXPECT_EQ(puts_of(totals), (Lines{"1 A write 2", "1 B write 5"}));
}

TEST(PutTotals, ForgetsOneIoc) {
  PutTotals totals(10);
  totals.open(1, 100, labels(1, "A"));
  totals.open(2, 101, labels(2, "A"));
  totals.observe(1, {5, 0});
  totals.observe(2, {7, 0});
  totals.forget(1);
  totals.observe(1, {6, 2});
  totals.close(1);
  EXPECT_EQ(puts_of(totals), Lines{"2 A write 7"});
  EXPECT_EQ(totals.forgotten(), 3u);
}

TEST(CaConnections, AddressTexts) {
  EXPECT_EQ(ca_address_text(iocx_ca_address{{10, 0, 0, 7}}), "10.0.0.7");
  InetAddress six{};
  six[15] = 1;
  EXPECT_FALSE(ca_address(six));
  EXPECT_EQ(ca_address_text(*ca_address(ipv4_address(10, 0, 0, 8))), "10.0.0.8");
}

TEST(CaConnections, KnowsLoopbacksAddress) {
  auto netlink = Netlink::open(NETLINK_ROUTE, "read addresses");
  ASSERT_TRUE(netlink);
  const auto routes = read_local_routes(*netlink);
  ASSERT_TRUE(routes);
  EXPECT_TRUE(routes->contains({IOCX_CA_ROUTE_BITS, iocx_ca_address{{127, 0, 0, 1}}}));
}

}  // namespace
