#include "puts/totals/samples_by_name.h"

#include <gtest/gtest.h>

namespace ioc_exporter::ca {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class CaSamplesByName : public ::testing::Test {
 protected:
  void SetUp() override { clock_.update({0, 1'790'000'000 * kSecond}); }

  CaSamples add(ca::CaTapReading reading) {
    CaSamples snapshot;
    add_ca_samples({{1, "one"}, {2, "two"}}, std::move(reading), clock_, snapshot, self_);
    return snapshot;
  }

  SelfSamples self_;
  WallClock clock_;
  const ca::CaPutLabels one_{1, "pv", "c", "u", "h"};
  const ca::CaPutLabels nobodys_{3, "pv", "c", "u", "h"};
};

TEST_F(CaSamplesByName, PutsAndOutcomesGetTheirIocsName) {
  ca::CaTapReading reading;
  reading.puts = {{one_, PutOp::write_notify, 23, 7 * kSecond}, {nobodys_, PutOp::write, 5, 1}};
  reading.failures = {{one_, "put_failed", 3}, {nobodys_, "put_failed", 5}};
  ca::CaPutDuration duration{{"", "pv", 211, {}}, 1};
  duration.buckets[19] = 23;
  reading.durations = {duration};
  reading.durations.push_back({{"", "pv", 1, {}}, 3});
  const CaSamples snapshot = add(reading);

  ASSERT_EQ(snapshot.puts.size(), 1u);
  const PutSample& put = snapshot.puts[0];
  EXPECT_EQ(put.ioc + put.pv + put.client + put.user + put.host, "onepvcuh");
  EXPECT_EQ(put.op, PutOp::write_notify);
  EXPECT_EQ(put.count, 23u);
  EXPECT_EQ(put.last_time_seconds, 1'790'000'007.0);
  ASSERT_EQ(snapshot.put_failures.size(), 1u);
  EXPECT_EQ(snapshot.put_failures[0].ioc, "one");
  EXPECT_EQ(snapshot.put_failures[0].reason, "put_failed");
  EXPECT_EQ(snapshot.put_failures[0].count, 3u);
  ASSERT_EQ(snapshot.put_durations.size(), 1u);
  EXPECT_EQ(snapshot.put_durations[0].ioc, "one");
  EXPECT_EQ(snapshot.put_durations[0].sum_ns, 211u);
  EXPECT_EQ(snapshot.put_durations[0].buckets[19], 23u);
}

TEST_F(CaSamplesByName, EveryIocIsAServer) {
  ca::CaTapReading reading;
  ca::CaServerCount count;
  count.number = 2;
  count.circuits = 1;
  count.channels = {2, 3, 5, 7, 11};
  count.monitors = 13;
  count.flow_controlled = 17;
  count.gets = 19;
  count.monitor_updates = 23;
  count.echoes = 29;
  count.server_disconnects = 31;
  count.received_bytes = 37;
  count.sent_bytes = 41;
  reading.servers = {count};
  reading.clients = {{{"", "c", "u", "h", 43, 47, 53}, 2}, {{"", "c", "u", "h", 1, 1, 1}, 3}};
  const CaSamples snapshot = add(reading);

  ASSERT_EQ(snapshot.ca_servers.size(), 2u);
  const CaServerSample& two = snapshot.ca_servers[0];
  EXPECT_EQ(two.ioc, "two");
  EXPECT_EQ(two.circuits, 1u);
  EXPECT_EQ(two.channels[CaServerSample::unknown], 11u);
  EXPECT_EQ(two.monitors, 13u);
  EXPECT_EQ(two.flow_controlled, 17u);
  EXPECT_EQ(two.gets, 19u);
  EXPECT_EQ(two.monitor_updates, 23u);
  EXPECT_EQ(two.echoes, 29u);
  EXPECT_EQ(two.server_disconnects, 31u);
  EXPECT_EQ(two.received_bytes, 37u);
  EXPECT_EQ(two.sent_bytes, 41u);
  EXPECT_EQ(snapshot.ca_servers[1].ioc, "one") << "no client came to it";
  EXPECT_EQ(snapshot.ca_servers[1].circuits, 0u);
  ASSERT_EQ(snapshot.ca_clients.size(), 1u);
  EXPECT_EQ(snapshot.ca_clients[0].ioc, "two");
  EXPECT_EQ(snapshot.ca_clients[0].circuits, 43u);
  EXPECT_EQ(snapshot.ca_clients[0].channels, 47u);
  EXPECT_EQ(snapshot.ca_clients[0].monitors, 53u);
}

TEST_F(CaSamplesByName, DropsAndMapsAreTakenOver) {
  ca::CaTapReading reading;
  reading.drops = {{"ca_tap", "resync", 3}};
  reading.maps = {{"ca_channels", 5, 7}};
  const CaSamples snapshot = add(reading);
  ASSERT_EQ(self_.drops.size(), 1u);
  EXPECT_EQ(self_.drops[0].reason, "resync");
  ASSERT_EQ(self_.maps.size(), 1u);
  EXPECT_EQ(self_.maps[0].capacity, 7u);
}

}  // namespace
}  // namespace ioc_exporter::ca
