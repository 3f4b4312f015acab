#include <gmock/gmock.h>
#include "app/status.h"

#include "base/json_reader.h"
#include "base/rates.h"
#include "puts/tables.h"
#include "records/busy_records.h"
#include "records/memory/record_states.h"
#include "support/snapshot.h"

namespace ioc_exporter::app {
namespace {

using LandingTable = exposition::StatusTable;
using puts::kClientsShown;
using puts::kPutsShown;
using records::kStuckShown;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

constexpr double kNow = 10'000;

// The loop of user fofb is expected, what a guest does is forbidden.
std::string_view verdict(const PutSample& put) {
  return put.user == "fofb" ? "expected" : put.user == "guest" ? "forbidden" : "";
}

// All tables of the page at "/".
std::vector<LandingTable> landing_tables(const Snapshot& snapshot, double now) {
  return {records::stuck_table(snapshot.iocs), puts::clients_table(snapshot),
          puts::puts_table(snapshot, now, verdict), puts::searches_table(snapshot, now),
          limits_table(snapshot.maps)};
}

LandingTable table(const Snapshot& snapshot, const std::string& title) {
  for (LandingTable& each : landing_tables(snapshot, kNow)) {
    for (const auto& row : each.rows) EXPECT_EQ(row.size(), each.columns.size()) << each.title;
    if (each.title == title) return each;
  }
  ADD_FAILURE() << "no table " << title;
  return {};
}

TEST(LandingTables, ClientsByIocAndAddress) {
  Snapshot snapshot;
  snapshot.clients = {{"b", "10.0.0.1", "u", "h", 1, 2, 3},
                      {"a", "10.0.0.2", "u", "h", 4, 5, 6},
                      {"a", "10.0.0.1", "", "", 7, 8, 9}};
  EXPECT_EQ(table(snapshot, "Clients").rows, (Rows{{"a", "10.0.0.1", "", "", "7", "8", "9"},
                                                   {"a", "10.0.0.2", "u", "h", "4", "5", "6"},
                                                   {"b", "10.0.0.1", "u", "h", "1", "2", "3"}}));
  EXPECT_EQ(table(snapshot, "Clients").more, "");
}

IocSample ioc_with_stuck(const std::string& name, std::vector<ActiveRecord> stuck) {
  auto database = std::make_shared<Database>();
  database->types = {"ai", "motor"};
  database->records = {{1, name + ":a", 0}, {2, name + ":m", 1}};
  auto memory = std::make_shared<IocMemorySample>();
  memory->records.emplace().stuck = stuck.size();
  memory->records->longest_stuck = std::move(stuck);
  IocSample ioc;
  ioc.name = name;
  ioc.up = true;
  ioc.database = std::move(database);
  ioc.memory = std::move(memory);
  return ioc;
}

TEST(LandingTables, StuckRecordsTheLongestFirst) {
  Snapshot snapshot;
  snapshot.iocs = {ioc_with_stuck("x", {{1, 61}, {0, 12}}), ioc_with_stuck("y", {{0, 3600}}),
                   ioc_with_stuck("z", {{7, 99}})};  // of another database
  EXPECT_EQ(table(snapshot, "Stuck records").rows, (Rows{{"y", "y:a", "ai", "1 h"},
                                                         {"x", "x:m", "motor", "1 min 1 s"},
                                                         {"x", "x:a", "ai", "12 s"}}));
  snapshot.iocs = {ioc_with_stuck("x", std::vector<ActiveRecord>(kStuckShown + 23, {0, 12}))};
  EXPECT_EQ(table(snapshot, "Stuck records").rows.size(), kStuckShown);
  EXPECT_THAT(table(snapshot, "Stuck records").more, HasSubstr("23 more"));
}

TEST(LandingTables, ManyClientsAreCutAndCounted) {
  Snapshot snapshot;
  for (std::size_t i = 0; i < kClientsShown + 23; ++i)
    snapshot.clients.push_back({"a", std::to_string(i), "u", "h", 1, 0, 0});
  const LandingTable clients = table(snapshot, "Clients");
  EXPECT_EQ(clients.rows.size(), kClientsShown);
  EXPECT_THAT(clients.more, HasSubstr("And 23 more"));
}

TEST(LandingTables, LatestPutsFirstAndOnlyWithATime) {
  Snapshot snapshot;
  for (int i = 1; i <= 13; ++i)
    snapshot.puts.push_back(
        {"a", "pv" + std::to_string(i), "c", "u", "h", PutOp::write, 1, kNow - 60.0 * i});
  snapshot.puts.push_back({"a", "timeless", "c", "u", "h", PutOp::write, 1, 0});
  snapshot.puts.push_back({"a", "last", "c", "u", "h", PutOp::write_notify, 1, kNow - 2});
  const Rows rows = table(snapshot, "Latest puts").rows;
  ASSERT_EQ(rows.size(), kPutsShown);
  EXPECT_THAT(rows[0], ElementsAre("2.0 s ago", "", "a", "last", "c", "u", "h", "write_notify"));
  EXPECT_THAT(rows[1], ElementsAre("1 min ago", "", "a", "pv1", "c", "u", "h", "write"));
  EXPECT_EQ(rows.back()[3], "pv9");
}

TEST(LandingTables, PutsThatThePolicyExpectsAreOneRowAUserAfterAllOthers) {
  Snapshot snapshot;
  for (int i = 0; i < 100; ++i)
    snapshot.puts.push_back(
        {"a", "pv" + std::to_string(i), "c", "fofb", "h", PutOp::write, 1, kNow - i});
  snapshot.puts.push_back({"a", "slit", "c", "guest", "h", PutOp::write, 1, kNow - 600});
  snapshot.puts.push_back({"a", "slit", "c", "fofb", "other", PutOp::write, 1, kNow - 700});
  EXPECT_EQ(table(snapshot, "Latest puts").rows,
            (Rows{{"10 min ago", "forbidden", "a", "slit", "c", "guest", "h", "write"},
                  {"0 s ago", "expected", "a", "pv0", "c", "fofb", "h", "write"},
                  {"11 min 40 s ago", "expected", "a", "slit", "c", "fofb", "other", "write"}}));
}

TEST(LandingTables, NamesSearchedMostFirst) {
  Snapshot snapshot;
  snapshot.searched_names = {{"c1", "RARE", 5, kNow - 100, kNow - 50},
                             {"c2", "OFTEN", 4001, kNow - 7200, kNow - 1}};
  EXPECT_EQ(table(snapshot, "Searched in vain").rows,
            (Rows{{"OFTEN", "c2", "4001", "2 h ago", "1.0 s ago"},
                  {"RARE", "c1", "5", "1 min 40 s ago", "50 s ago"}}));
}

TEST(LandingTables, TheFullestTableIsFirst) {
  Snapshot snapshot;
  snapshot.maps = {{"threads", 23, 4096}, {"circuits", 60, 100}, {"none", 0, 0}};
  EXPECT_EQ(table(snapshot, "Limits").rows,
            (Rows{{"circuits", "60", "100", "60 %"}, {"threads", "23", "4096", "0 %"}}));
}

TEST(LandingTables, NothingIsNoRows) {
  for (const LandingTable& each : landing_tables({}, kNow)) EXPECT_TRUE(each.rows.empty());
}

std::vector<std::string> facts_of(Drops drops) {
  exposition::StatusPage page;
  page.self.drops = std::move(drops);
  finish_status({}, page);
  std::vector<std::string> facts = page.notes;
  for (const auto& fact : page.facts)
    facts.push_back(fact.value + " " + fact.what + (fact.bad ? " (bad)" : ""));
  return facts;
}

TEST(StatusFacts, PartialCountsAreProblems) {
  EXPECT_THAT(facts_of({{{"ca_tap", "lost"}, 0}}), ElementsAre("0 problems"));
  EXPECT_THAT(facts_of({{{"ca_tap", "lost"}, 23}, {{"ca_udp", "cut"}, 1}}),
              ElementsAre("ca_tap: 23 × lost (see ioc_exporter_dropped_total)",
                          "ca_udp: 1 × cut (see ioc_exporter_dropped_total)", "1 problem (bad)",
                          "24 not counted in full (bad)"));
}

// Of the second reading, in 2 s.
Rows busiest(const std::vector<IocSample>& before, const std::vector<IocSample>& now,
             std::chrono::milliseconds after = std::chrono::seconds(2)) {
  records::BusyRecords busy;
  const auto begin = records::BusyRecords::Clock::now();
  EXPECT_TRUE(busy.table(before, begin).rows.empty());
  return busy.table(now, begin + after).rows;
}

TEST(LandingTables, TheBusiestRecordsFirstAndTimesWhereEachCallIsTimed) {
  IocSample timed = ioc_with_stuck("x", {}), sampled = ioc_with_stuck("y", {});
  timed.overhead.emplace();
  sampled.overhead.emplace().timed_share = 1.0 / 16;
  timed.records = {{0, 100, 0, 7'000'000}, {1, 5, 0, 1'000'000}};
  sampled.records = {{0, 1, 0, 1'000'000}};
  const std::vector<IocSample> before{timed, sampled};
  timed.records = {{0, 146, 0, 53'000'000}, {1, 5, 0, 1'000'000}};
  sampled.records = {{0, 3, 0, 900'000'000}, {1, 212, 0, 1'000'000}};
  EXPECT_EQ(busiest(before, {timed, sampled}),
            (Rows{{"x", "x:a", "2.30 %", "23.0", "1000.0 µs"},
                  {"y", "y:m", "not timed", "106", "not timed"},
                  {"y", "y:a", "not timed", "1.00", "not timed"}}));
  EXPECT_TRUE(busiest(before, {timed, sampled}, std::chrono::milliseconds(999)).empty());
  EXPECT_TRUE(busiest(before, {timed, sampled}, std::chrono::minutes(11)).empty());
  IocSample again = ioc_with_stuck("x", {});  // with a database of its own
  again.records = {{0, 1000, 0, 1}};
  EXPECT_TRUE(busiest(before, {again}).empty());
}

TEST(StatusPages, AsText) {
  exposition::StatusPage page;
  page.name = "ioc_exporter";
  page.version = "1.2.3";
  page.facts = {{"2", "records"}};
  page.ioc_columns = {{"pid", true}, {"records", true}, {"puts/s", true}};
  page.iocs = {{.name = "p\x1bs",
                .up = true,
                .cells = {{"pid", "23"}, {"records", "2"}},
                .notes = {"a note"}}};
  page.tables = {{"None", "", {{"a"}}, {}, ""}, {"Some", "", {{"a b"}}, {{"c"}}, "And 1 more."}};
  page.origin = {"ctl-7", 0};
  page.probes = {{.name = "record_process", .ok = true, .state = "3 attachments"},
                 {.name = "ca_udp", .state = "not loaded", .problem = "no room"}};
  EXPECT_EQ(status_text(page),
            "ioc_exporter 1.2.3 on ctl-7, 2 records\n"
            "\nIOCs\nIOC  STATE  PID  RECORDS  PUTS/S  PROBLEM\n"
            "p_s  up     23   2        -       -\n"
            "\nSome\nA B\nc\nAnd 1 more.\n"
            "\nProbes\nPROBE   STATE       PROBLEM\nca_udp  not loaded  no room\n"
            "\nNotes\nioc p_s: a note\n");
  EXPECT_THAT(check(page, "", "p\x1bs").text, EndsWith("\nioc p_s: a note\n\nfind IOCs: p_s\n"));
  const auto json = Json::parse(status_json(page));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->text_at("host"), "ctl-7");
  const Json::Array& tables = json->at("tables").items();
  EXPECT_EQ(tables[0].at("rows").items()[0].text_at("records"), "2");
  EXPECT_EQ(tables[2].at("rows").items()[0].text_at("a b"), "c");
}

TEST(StatusPages, ASecondReadingIsTakenWhereRatesAreDue) {
  for (const bool due : {false, true}) {
    std::vector<std::string> done;
    const auto read = [&done, due] {
      done.emplace_back("read");
      exposition::StatusPage page;
      page.rates_due = due;
      page.name = std::to_string(done.size());
      return page;
    };
    const auto wait = [&done](std::chrono::milliseconds pause) {
      EXPECT_EQ(pause, Rates::kShortest);
      done.emplace_back("wait");
    };
    EXPECT_EQ(page_with_rates(read, wait).name, due ? "3" : "1");
    const std::vector<std::string> once{"read"}, twice{"read", "wait", "read"};
    EXPECT_EQ(done, due ? twice : once);
  }
}

}  // namespace
}  // namespace ioc_exporter::app
