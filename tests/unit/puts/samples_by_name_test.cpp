// Samples by names of PVs and records.
#include <gmock/gmock.h>

#include "puts/inventory/pv_records.h"
#include "puts/totals/samples_by_name.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;

IocFacts ioc(const std::string& name, const std::string& record) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  database->records = {{0x1000, record, 0}};
  database->aliases = {{"Alias", 0}};
  IocFacts sample;
  sample.name = name;
  sample.up = true;
  sample.database = database;
  return sample;
}

PutSample put(const std::string& ioc, const std::string& pv) {
  return {ioc, pv, "c", "u", "h", PutOp::write, 1, 0};
}

std::vector<std::string> texts(const std::vector<PvSample>& pvs) {
  std::vector<std::string> all;
  for (const PvSample& pv : pvs)
    all.push_back(pv.ioc + " " + pv.pv + " " + pv.record + "." + pv.field);
  return all;
}

TEST(PvRecords, OnceForEachOtherNameOfARecord) {
  PvRecords records;
  EXPECT_THAT(texts(records.resolve(
                  {ioc("a", "R"), ioc("b", "S")},
                  {put("a", ""), put("a", "Alias.DESC$"), put("a", "Alias.DESC$"), put("a", "R"),
                   put("a", "R.DESC"), put("a", "S"), put("b", "Alias.{}"), put("c", "Alias")})),
              ElementsAre("a Alias.DESC$ R.DESC", "b Alias.{} S.VAL"));
}

TEST(PvRecords, FollowTheDatabase) {
  PvRecords records;
  IocFacts running = ioc("a", "R");
  EXPECT_THAT(texts(records.resolve({running}, {put("a", "Alias")})), ElementsAre("a Alias R.VAL"));
  running.database = ioc("a", "S").database;
  EXPECT_THAT(texts(records.resolve({running}, {put("a", "Alias")})), ElementsAre("a Alias S.VAL"));
  running.up = false;
  EXPECT_THAT(records.resolve({running}, {put("a", "Alias")}), IsEmpty());
  running.up = true;
  running.database.reset();
  EXPECT_THAT(records.resolve({running}, {put("a", "Alias")}), IsEmpty());
  EXPECT_THAT(records.resolve({}, {put("a", "Alias")}), IsEmpty());
}

constexpr std::int64_t kSecond = 1'000'000'000;

class SamplesByName : public ::testing::Test {
 protected:
  void SetUp() override { clock_.update({0, 1'790'000'000 * kSecond}); }

  PutsSamples add(TapReading reading) {
    SamplesOfBoth samples;
    add_samples({{1, "one"}, {2, "two"}}, {2}, std::move(reading), clock_, samples, self_);
    pva_ = std::move(samples.pva);
    return std::move(samples.ca);
  }

  PutsSamples pva_;

  SelfSamples self_;
  WallClock clock_;
  const PutLabels one_{1, "pv", "c", "u", "h"};
  const PutLabels nobodys_{3, "pv", "c", "u", "h"};
};

TEST_F(SamplesByName, PutsAndOutcomesGetTheirIocsName) {
  TapReading reading;
  reading.puts = {{one_, PutOp::write_notify, 23, 0, 1, 7 * kSecond},
                  {nobodys_, PutOp::write, 5, 0, 2, 1}};
  reading.failures = {{one_, "put_failed", 3}, {nobodys_, "put_failed", 5}};
  PutDuration duration{{"", "pv", 211, {}}, 1};
  duration.buckets[19] = 23;
  reading.durations = {duration};
  reading.durations.push_back({{"", "pv", 1, {}}, 3});
  const PutsSamples snapshot = add(reading);

  EXPECT_THAT(snapshot.puts, ElementsAre(FieldsAre("one", "pv", "c", "u", "h", PutOp::write_notify,
                                                   23u, 1'790'000'007.0, _, _)));
  const PutFailureSample& failure = only(snapshot.put_failures);
  EXPECT_EQ(failure.ioc + " " + failure.reason, "one put_failed");
  EXPECT_EQ(failure.count, 3u);
  EXPECT_EQ(only(snapshot.put_durations).ioc, "one");
  EXPECT_EQ(snapshot.put_durations[0].sum_ns, 211u);
  EXPECT_EQ(snapshot.put_durations[0].buckets[19], 23u);
}

constexpr std::uint64_t ServerSample::*kCounts[] = {
    &ServerSample::circuits,           &ServerSample::monitors,
    &ServerSample::flow_controlled,    &ServerSample::gets,
    &ServerSample::monitor_updates,    &ServerSample::echoes,
    &ServerSample::server_disconnects, &ServerSample::received_bytes,
    &ServerSample::sent_bytes};

TEST_F(SamplesByName, EveryIocIsAServer) {
  TapReading reading;
  ServerCount count;
  count.server = {2};
  count.channels = {2, 3, 5, 7, 11};
  std::uint64_t next = 13;
  for (const auto member : kCounts) count.*member = next++;
  reading.servers = {count};
  reading.clients = {{{"", "c", "u", "h", 43, 47, 53}, {2}}, {{"", "c", "u", "h", 1, 1, 1}, {3}}};
  const PutsSamples snapshot = add(reading);

  ASSERT_EQ(snapshot.servers.size(), 2u);
  const ServerSample& two = snapshot.servers[0];
  EXPECT_EQ(two.ioc, "two");
  EXPECT_EQ(two.channels[ServerSample::unknown], 11u);
  next = 13;
  for (const auto member : kCounts) EXPECT_EQ(two.*member, next++);
  EXPECT_EQ(snapshot.servers[1].ioc, "one") << "no client came to it";
  EXPECT_EQ(snapshot.servers[1].circuits, 0u);
  EXPECT_THAT(snapshot.clients, ElementsAre(FieldsAre("two", "c", "u", "h", 43u, 47u, 53u, false)));
}

TEST_F(SamplesByName, EachProtocolHasItsOwn) {
  TapReading reading;
  for (const ServerKey& server : {ServerKey{1}, {1, Protocol::pva}, {2, Protocol::pva}}) {
    const std::uint64_t puts = 10 + server.ioc;
    reading.puts.push_back(
        {{server.ioc, "pv", "c", "u", "h", false, server.protocol}, PutOp::write, puts});
    reading.servers.emplace_back().server = server;
    reading.durations.push_back(
        {{"", "pv", puts, {}, server.protocol == Protocol::pva}, server.ioc});
  }
  const PutsSamples ca = add(reading);
  EXPECT_EQ(only(ca.puts).ioc, "one");
  EXPECT_EQ(only(ca.put_durations).sum_ns, 11u);
  ASSERT_EQ(pva_.puts.size(), 2u);
  EXPECT_EQ(pva_.puts[1].count, 12u);
  EXPECT_TRUE(pva_.puts[1].by_pva && pva_.put_durations[1].by_pva);
  EXPECT_EQ(ca.servers.size(), 2u);
  EXPECT_EQ(only(pva_.servers).ioc, "two") << "the other was not seen to serve PV Access";
}

TEST_F(SamplesByName, DropsAndMapsAreTakenOver) {
  TapReading reading;
  reading.drops = {{{"ca_tap", "cut"}, 3}};
  reading.maps = {{"ca_channels", 5, 7}};
  add(reading);
  EXPECT_EQ(self_.drops, (Drops{{{"ca_tap", "cut"}, 3}}));
  EXPECT_EQ(only(self_.maps).capacity, 7u);
}

}  // namespace
}  // namespace ioc_exporter::puts
