#include "puts/who_wrote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ioc_exporter::ca {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IocFacts ioc(const std::string& name, std::vector<std::string> records,
             std::vector<RecordAlias> aliases = {}) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  for (const std::string& record : records) database->records.push_back({0x1000, record, 0});
  database->aliases = std::move(aliases);
  IocFacts sample;
  sample.name = name;
  sample.up = true;
  sample.database = database;
  return sample;
}

struct Snapshot : CaSamples {
  std::vector<IocFacts> iocs;
};

WhoWrote who_wrote(const Snapshot& all, std::string_view pv) {
  return ca::who_wrote(all.iocs, all, pv);
}

// Two IOCs of EPICS Base that share no record name but R2, and a server without a database.
Snapshot snapshot() {
  Snapshot all;
  all.iocs = {ioc("one", {"R1", "R2"}, {{"Alias", 0}}), ioc("two", {"R2", "R3"})};
  all.iocs.push_back(IocFacts{});
  all.iocs.back().name = "soft";
  all.puts = {{"one", "R1", "c1", "u", "h", PutOp::write, 23, 100},
              {"one", "R1.DESC$", "c2", "u", "h", PutOp::write, 1, 300},
              {"one", "Alias.VAL", "c3", "u", "h", PutOp::write_notify, 2, 200},
              {"one", "R2", "c1", "u", "h", PutOp::write, 7, 50},
              {"one", "", "c9", "", "", PutOp::write, 11, 400},
              {"two", "R2.VAL", "c1", "u", "h", PutOp::write, 5, 60},
              {"two", "", "c9", "", "", PutOp::write, 13, 0},
              {"soft", "R1.VAL", "c4", "u", "h", PutOp::write, 3, 0},
              {"soft", "R10", "c4", "u", "h", PutOp::write, 3, 500}};
  all.pvs = {{"one", "R1", "R1", "VAL"},
             {"one", "R1.DESC$", "R1", "DESC"},
             {"one", "Alias.VAL", "R1", "VAL"},
             {"one", "R2", "R2", "VAL"},
             {"two", "R2.VAL", "R2", "VAL"}};
  return all;
}

std::vector<std::string> clients(const WhoWrote& answer) {
  std::vector<std::string> found;
  for (const PutSample& put : answer.puts)
    found.push_back(put.ioc + " " + put.pv + " " + put.client);
  return found;
}

std::vector<std::string> records(const WhoWrote& answer) {
  std::vector<std::string> found;
  for (const PvSample& pv : answer.records)
    found.push_back(pv.ioc + " " + pv.record + "." + pv.field);
  return found;
}

TEST(WhoWrote, AllNamesOfTheRecordTheLatestFirst) {
  for (const char* asked : {"R1", "R1.VAL", "Alias", "Alias.DESC", "R1.{\"dbnd\":{}}"}) {
    const WhoWrote answer = who_wrote(snapshot(), asked);
    EXPECT_EQ(answer.pv, asked);
    std::vector<std::string> expected = {"one R1.DESC$ c2", "one Alias.VAL c3", "one R1 c1"};
    // A server whose records are not known: the same name is the same record.
    if (asked[0] == 'R') expected.push_back("soft R1.VAL c4");
    EXPECT_EQ(clients(answer), expected) << asked;
    EXPECT_EQ(answer.unnamed_puts, 11u) << "of the IOC that has the record";
    EXPECT_EQ(answer.problem, "");
  }
  EXPECT_THAT(records(who_wrote(snapshot(), "Alias.DESC$")), ElementsAre("one R1.DESC"));
}

TEST(WhoWrote, EachIocThatHasTheRecord) {
  const WhoWrote answer = who_wrote(snapshot(), "R2");
  EXPECT_THAT(clients(answer), ElementsAre("two R2.VAL c1", "one R2 c1"));
  EXPECT_THAT(records(answer), ElementsAre("one R2.VAL", "two R2.VAL"));
  EXPECT_EQ(answer.unnamed_puts, 24u);
}

TEST(WhoWrote, NobodyAndNowhere) {
  const WhoWrote nobody = who_wrote(snapshot(), "R3");
  EXPECT_THAT(nobody.puts, IsEmpty());
  EXPECT_THAT(records(nobody), ElementsAre("two R3.VAL"));
  EXPECT_EQ(nobody.unnamed_puts, 13u);
  const WhoWrote nowhere = who_wrote(snapshot(), "R");
  EXPECT_THAT(nowhere.puts, IsEmpty());
  EXPECT_THAT(nowhere.records, IsEmpty());
  EXPECT_EQ(nowhere.unnamed_puts, 24u) << "they may have been to it";
  EXPECT_THAT(who_wrote(snapshot(), "").puts, IsEmpty());
}

TEST(WhoWrote, NamesThatAreNoUtf8AreFoundAsLabelsOnMetricsToo) {
  Snapshot all = snapshot();
  all.puts.push_back({"soft", "caf\xE9", "c5", "u", "h", PutOp::write, 1, 1});
  EXPECT_THAT(clients(who_wrote(all, "caf\xE9")), ElementsAre("soft caf\xE9 c5"));
  EXPECT_THAT(clients(who_wrote(all, "caf\\xE9")), ElementsAre("soft caf\xE9 c5"));
}

TEST(WhoWrote, SaysWhyPutsMayBeMissing) {
  Snapshot all = snapshot();
  EXPECT_EQ(why_puts_are_missing(true, true), "");
  EXPECT_THAT(why_puts_are_missing(true, false), HasSubstr("log says why"));
  EXPECT_THAT(why_puts_are_missing(false, false), HasSubstr("--no-collector.puts"));
}

TEST(WhoWrote, JsonAndBack) {
  Snapshot all = snapshot();
  all.puts[0].user = "\"quoted\" \xC3\xA9 \x1b[31m";
  all.puts[0].count = UINT64_C(18446744073709551615);
  all.puts[0].last_time_seconds = 1790000000.123456;
  WhoWrote answer = who_wrote(all, "R1");
  answer.counting_since_seconds = 1789999999.5;
  const std::string json = to_json(answer);
  for (const char c : json) EXPECT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n') << json;
  const auto back = who_wrote_from_json(json);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->pv, "R1");
  EXPECT_EQ(back->unnamed_puts, 11u);
  EXPECT_EQ(back->counting_since_seconds, 1789999999.5);
  ASSERT_EQ(back->puts.size(), answer.puts.size());
  EXPECT_EQ(back->puts[0].user, all.puts[0].user);
  EXPECT_EQ(back->puts[0].count, all.puts[0].count);
  EXPECT_EQ(back->puts[0].last_time_seconds, 1790000000.123456);
  EXPECT_EQ(back->puts[2].op, PutOp::write_notify);
  EXPECT_EQ(records(*back), records(answer));
}

TEST(WhoWrote, WhatIsNoSuchJsonIsAnError) {
  const std::string json = to_json(who_wrote(snapshot(), "R1"));
  EXPECT_FALSE(who_wrote_from_json(""));
  EXPECT_FALSE(who_wrote_from_json("[]"));
  EXPECT_FALSE(who_wrote_from_json("{}"));
  EXPECT_FALSE(who_wrote_from_json(json.substr(0, json.size() / 2)));
  EXPECT_FALSE(who_wrote_from_json(R"({"pv":1})"));
  EXPECT_FALSE(who_wrote_from_json(R"({"pv":"\xFF"})"));
}

}  // namespace
}  // namespace ioc_exporter::ca
