// Outcomes of puts and what circuits carry, by label: the pure part.
#include "puts/totals/outcome_totals.h"

#include <gtest/gtest.h>

#include "puts/totals/server_totals.h"
#include "puts/totals/totals.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::puts;

PutLabels labels(std::uint32_t ioc, const std::string& pv, const std::string& user = "u") {
  return {ioc, pv, "10.0.0.7", user, "h"};
}
iocx_ca_outcome outcome(std::uint64_t sum_ns, std::size_t slot, std::uint64_t count) {
  iocx_ca_outcome value{};
  value.sum_ns = sum_ns;
  value.buckets[slot] = count;
  return value;
}
constexpr std::uint32_t kPutFailed = 160, kNoWrite = 376;

using Lines = std::vector<std::string>;
Lines failures(const OutcomeTotals& totals) {
  Lines lines;
  for (const auto& one : totals.failures())
    lines.push_back(std::to_string(one.labels.ioc) + " " + one.labels.pv + " " + one.labels.user +
                    " " + one.reason + " " + std::to_string(one.count));
  return lines;
}

TEST(OutcomeTotals, ForgetsOneClientOnePvAndOneIoc) {
  OutcomeTotals totals(10);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 5);
  totals.observe_failures({1, kNoWrite, 0}, labels(1, "A"), 7);
  totals.observe_failures({2, kNoWrite, 0}, labels(1, "A", "v"), 3);
  totals.observe_failures({4, kPutFailed, 0}, labels(2, "A"), 7);
  totals.observe_durations(1, labels(1, "A"), outcome(100, 3, 5));
  totals.observe_durations(3, labels(1, "B"), outcome(100, 3, 5));
  totals.forget_failures(labels(1, "A"));
  EXPECT_EQ(failures(totals), (Lines{"1 A v no_write_access 3", "2 A u put_failed 7"}));
  totals.forget_durations(1, "A");
  EXPECT_EQ(only(totals.durations()).pv, "B");
  totals.forget(1);
  EXPECT_EQ(failures(totals), Lines{"2 A u put_failed 7"});
  EXPECT_TRUE(totals.durations().empty());
}

TEST(OutcomeTotals, KnowsWhenThereWasNoFailureYet) {
  OutcomeTotals totals(10);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 5);
  totals.note_reading(1'000);
  totals.note_reading(2'000);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 6);
  totals.observe_failures({2, kPutFailed, 0}, labels(1, "B"), 1);
  ASSERT_EQ(totals.failures().size(), 2u);
  EXPECT_EQ(totals.failures()[0].created_ns, 0u) << "nobody had read before";
  EXPECT_EQ(totals.failures()[1].created_ns, 2'000u);
}

TEST(OutcomeTotals, AddsNewCounts) {
  OutcomeTotals totals(10);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 5);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 23);
  totals.observe_failures({1, kNoWrite, 0}, labels(1, "A"), 2);
  totals.observe_durations(1, labels(1, "A"), outcome(100, 3, 5));
  totals.observe_durations(1, labels(1, "A"), outcome(700, 3, 23));
  EXPECT_EQ(failures(totals), (Lines{"1 A u no_write_access 2", "1 A u put_failed 23"}));
  const auto durations = totals.durations();
  EXPECT_EQ(only(durations).sum_ns, 700u);
  EXPECT_EQ(only(durations).buckets[3], 23u);
  EXPECT_EQ(totals.statuses(1), (std::vector<std::uint32_t>{kPutFailed, kNoWrite}));
}

TEST(OutcomeTotals, ChannelsAddUpAndOutliveTheirEnd) {
  OutcomeTotals totals(10);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A", "anna"), 5);
  totals.observe_failures({2, kPutFailed, 0}, labels(1, "A", "ben"), 7);
  totals.observe_durations(1, labels(1, "A", "anna"), outcome(100, 3, 5));
  totals.observe_durations(2, labels(1, "A", "ben"), outcome(200, 4, 7));
  totals.close(1);
  EXPECT_TRUE(totals.statuses(1).empty());
  totals.observe_failures({3, kPutFailed, 0}, labels(1, "A", "anna"), 11);
  EXPECT_EQ(failures(totals), (Lines{"1 A anna put_failed 16", "1 A ben put_failed 7"}));
  EXPECT_EQ(only(totals.durations()).sum_ns, 300u) << "of all clients";
  EXPECT_EQ(totals.durations()[0].buckets[3], 5u);
  EXPECT_EQ(totals.durations()[0].buckets[4], 7u);
}

TEST(OutcomeTotals, StatusesOfOneReasonAreOneSeries) {
  OutcomeTotals totals(10);
  totals.observe_failures({1, 0x7000, 0}, labels(1, "A"), 5);
  totals.observe_failures({1, 0x7008, 0}, labels(1, "A"), 6);
  EXPECT_EQ(failures(totals), Lines{"1 A u other 11"});
}

TEST(OutcomeTotals, CountsPutsOverTheLimit) {
  OutcomeTotals totals(1);
  totals.observe_failures({1, kPutFailed, 0}, labels(1, "A"), 5);
  totals.observe_failures({2, kPutFailed, 0}, labels(1, "B"), 7);
  totals.observe_failures({2, kPutFailed, 0}, labels(1, "B"), 8);
  totals.observe_durations(1, labels(1, "A"), outcome(100, 3, 5));
  totals.observe_durations(2, labels(1, "B"), outcome(100, 3, 11));
  EXPECT_EQ(totals.overflowed(), 19u);
  EXPECT_EQ(totals.failures().size(), 1u);
  EXPECT_EQ(totals.durations().size(), 1u);
}

// Of what became of a channel's puts, as whoever reads the kernel's counters sees it.
void fail(Totals& totals, std::uint32_t slot, const PutLabels& labels, std::uint64_t puts,
          std::uint64_t failures) {
  totals.puts.open(slot, slot + 1, labels);
  totals.puts.observe(slot, {puts, 0}, 500);
  const bool has_room = totals.puts.note_outcome(slot);
  totals.outcomes(Protocol::ca).observe_failures({slot, kPutFailed, 0}, labels, failures, has_room);
  totals.outcomes(Protocol::ca)
      .observe_durations(slot, labels, outcome(100, 3, failures), has_room);
  totals.puts.close(slot);
  totals.outcomes(Protocol::ca).close(slot);
}

TEST(Totals, FailuresExpireWithTheirClientsPutsAndWithoutAny) {
  Totals totals(10);
  totals.read(1'000);
  fail(totals, 1, labels(1, "A"), 0, 7);
  fail(totals, 2, labels(1, "B"), 11, 11);
  totals.expire(1'000);
  ASSERT_EQ(totals.outcomes(Protocol::ca).failures().size(), 2u);
  totals.expire(1'001);
  EXPECT_TRUE(totals.outcomes(Protocol::ca).failures().empty());
  EXPECT_TRUE(totals.outcomes(Protocol::ca).durations().empty());
  EXPECT_EQ(totals.puts.series(), 0u);
}

iocx_ca_flow_key key(std::uint16_t client_port) {
  iocx_ca_flow_key key{};
  key.client = iocx_ca_address{{10, 0, 0, 7}};
  key.client_port = client_port;
  return key;
}

TEST(ServerTotals, AddsTheGrowthOfEachConnection) {
  ServerTotals totals;
  __u64 counts[IOCX_CA_COUNT_ROOM] = {5, 0, 7, 0, 100, 200};
  totals.observe(key(1), {3}, server_counts(counts));
  counts[IOCX_CA_COUNT_GETS] = 23;
  totals.observe(key(1), {3}, server_counts(counts));
  totals.observe(key(2), {3}, server_counts(counts));
  totals.observe(key(3), {4}, server_counts(counts));
  EXPECT_EQ(totals.totals().at({3})[IOCX_CA_COUNT_GETS], 46u);
  EXPECT_EQ(totals.totals().at({3})[IOCX_CA_COUNT_UPDATES], 14u);
  EXPECT_EQ(totals.totals().at({3})[IOCX_CA_COUNT_SENT], 400u);
  EXPECT_EQ(totals.totals().at({4})[IOCX_CA_COUNT_GETS], 23u);
}

TEST(OpenCounts, AddsUpByServerAndClient) {
  OpenCounts open;
  iocx_ca_flow flow{};
  __builtin_strcpy(flow.identity.user, "anna");
  __builtin_strcpy(flow.identity.host, "h1");
  flow.circuit = 1;
  open.add_circuit({3}, key(1), flow);
  flow.circuit = 2;
  flow.events_off = 1;
  open.add_circuit({3}, key(2), flow);
  iocx_ca_channel channel{};
  channel.circuit = 1;
  channel.access = IOCX_CA_ACCESS_READ;
  channel.monitors = 5;
  open.add_channel(channel);
  channel.circuit = 2;
  channel.access = 77;  // nothing that a kernel writes
  open.add_channel(channel);
  channel.circuit = 9;
  open.add_channel(channel);
  const auto servers = open.servers(ServerTotals{});
  ASSERT_EQ(servers.size(), 1u);
  EXPECT_EQ(servers[0].server, ServerKey{3});
  EXPECT_EQ(servers[0].circuits, 2u);
  EXPECT_EQ(servers[0].flow_controlled, 1u);
  EXPECT_EQ(servers[0].monitors, 10u);
  EXPECT_EQ(servers[0].channels, (std::array<std::uint64_t, 5>{0, 1, 0, 0, 1}));
  const ClientCount client = only(open.clients());
  EXPECT_EQ(client.client, "10.0.0.7");
  EXPECT_EQ(client.circuits, 2u);
  EXPECT_EQ(client.channels, 2u);
  EXPECT_EQ(client.monitors, 10u);
}

TEST(OpenCounts, ClientsThatTheKernelHasNotHeardHaveTheServersNames) {
  OpenCounts open;
  iocx_ca_flow flow{};
  open.add_circuit({3}, key(1), flow, "anna", "h1");
  __builtin_strcpy(flow.identity.user, "bert");
  flow.circuit = 1;
  open.add_circuit({3}, key(2), flow, "anna", "h1");
  const auto clients = open.clients();
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_EQ(clients[0].user + "@" + clients[0].host, "anna@h1");
  EXPECT_EQ(clients[1].user + "@" + clients[1].host, "bert@");
}

}  // namespace
