#include "policy/put_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "policy/collector.h"
#include "puts/totals/put_totals.h"

namespace ioc_exporter::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr double kMondayNoon = 1795435200;  // 2026-11-23 12:00 UTC
constexpr double kDay = 24 * 3600;

RuleText rule(std::string name, Action action, std::vector<std::string> users) {
  RuleText text;
  text.name = std::move(name);
  text.action = action;
  text.users = std::move(users);
  return text;
}

std::shared_ptr<const Policy> policy(std::vector<RuleText> rules,
                                     Action fallback = Action::unexpected) {
  PolicyText text;
  text.rules = std::move(rules);
  text.fallback = fallback;
  return std::make_shared<const Policy>(std::move(text));
}

std::shared_ptr<const Policy> operators_only() {
  return policy({rule("ops", Action::expect, {"operator"}), rule("no", Action::forbid, {"guest"})});
}

PutTotal total(std::string_view user, std::uint64_t count, double last = 0,
               std::uint32_t server = 1) {
  return {server, "ioc1", {"SR:Q1", user, "console1", "10.0.0.7", PutOp::write}, count, last};
}

class PutJudgeTest : public testing::Test {
 protected:
  PutJudgeTest() { judge_.set_policy(operators_only()); }

  void look(const std::vector<PutTotal>& totals, double when = kMondayNoon) {
    judge_.look(totals, when);
  }
  // "user rule action" -> value.
  std::map<std::string, std::uint64_t> shown() const { return shown(judge_); }
  static std::map<std::string, std::uint64_t> shown(const PutJudge& judge) {
    std::map<std::string, std::uint64_t> all;
    for (const auto& put : judge.unexpected())
      all[put.user + " " + put.rule + " " + put.action] = put.count;
    return all;
  }
  std::map<std::string, std::uint64_t> decided() const {
    std::map<std::string, std::uint64_t> all;
    for (const auto& rule : judge_.rules()) all[rule.rule + " " + rule.action] = rule.puts;
    return all;
  }

  PutJudge judge_;
};

TEST_F(PutJudgeTest, WritesInsideTheIocHaveASeriesWhereARuleForbidsThem) {
  const auto by = [](std::string_view writer, std::uint64_t count) {
    return PutTotal{1, "ioc1", {"SR:Q1", "", "", writer, PutOp::write, true}, count, 0};
  };
  RuleText no = rule("no seq", Action::forbid, {"badSeq"});
  no.inside = true;
  look({by("badSeq", 3), by("goodSeq", 5)});
  judge_.set_policy(policy({no}));
  look({by("badSeq", 7), by("goodSeq", 11)});
  EXPECT_THAT(shown(), UnorderedElementsAre(Pair(" no seq forbidden", 4)));
  EXPECT_THAT(decided(),
              UnorderedElementsAre(Pair("no seq forbidden", 4), Pair("default unexpected", 0)));
}

TEST_F(PutJudgeTest, OnlyUnexpectedAndForbiddenPutsHaveASeries) {
  look({total("guest", 3), total("operator", 5), total("rogue", 7)});
  EXPECT_THAT(shown(),
              ElementsAre(Pair("guest no forbidden", 3), Pair("rogue default unexpected", 7)));
  EXPECT_THAT(decided(), UnorderedElementsAre(Pair("ops expected", 5), Pair("no forbidden", 3),
                                              Pair("default unexpected", 7)));
}

TEST_F(PutJudgeTest, APutWithoutAUserIsUnexpectedByTheRuleThatMayForbidIt) {
  judge_.set_policy(policy({rule("no", Action::forbid, {"guest"})}, Action::allow));
  look({total("guest", 3), total("operator", 5), total("", 7)});
  EXPECT_THAT(shown(), ElementsAre(Pair(" no unexpected", 7), Pair("guest no forbidden", 3)));
  EXPECT_THAT(decided(), UnorderedElementsAre(Pair("no forbidden", 3), Pair("no unexpected", 7),
                                              Pair("default allowed", 5)));
}

TEST_F(PutJudgeTest, ANewSeriesHasItsValueAtOnceAndTellsWhenItWasZero) {
  look({total("guest", 1)}, kMondayNoon);
  look({total("guest", 1), total("rogue", 3, kMondayNoon + 7)}, kMondayNoon + 10);
  look({total("guest", 1), total("rogue", 4, kMondayNoon + 12)}, kMondayNoon + 20);
  auto puts = judge_.unexpected();
  ASSERT_EQ(puts.size(), 2u);
  EXPECT_EQ(puts[0].created_time_seconds, 0) << "nobody had looked before";
  EXPECT_EQ(puts[1].count, 4u);
  EXPECT_EQ(puts[1].created_time_seconds, kMondayNoon);  // the last look without it
  EXPECT_EQ(puts[1].last_time_seconds, kMondayNoon + 12);
  look({total("guest", 1), total("rogue", 5)}, kMondayNoon - 3900);
  puts = judge_.unexpected();
  EXPECT_EQ(puts[1].last_time_seconds, kMondayNoon - 3900) << "the clock was put back";
}

TEST_F(PutJudgeTest, AReloadCountsEachPutOnce) {
  look({total("operator", 5), total("rogue", 7)});
  judge_.set_policy(
      policy({rule("ops", Action::forbid, {"operator"}), rule("new", Action::allow, {"rogue"})}));
  look({total("operator", 6), total("rogue", 9)});
  EXPECT_THAT(shown(), testing::Contains(Pair("operator ops forbidden", 1)));
  EXPECT_THAT(decided(), UnorderedElementsAre(Pair("ops forbidden", 1), Pair("new allowed", 2),
                                              Pair("default unexpected", 7)));
}

TEST_F(PutJudgeTest, SeriesOfARuleThatIsGoneStayForAWeek) {
  look({total("guest", 7)});
  judge_.set_policy(policy({rule("renamed", Action::forbid, {"guest"})}));
  look({total("guest", 7)}, kMondayNoon + 7 * kDay);
  EXPECT_THAT(shown(), ElementsAre(Pair("guest no forbidden", 7)));
  look({total("guest", 7)}, kMondayNoon + 7 * kDay + 61);
  EXPECT_THAT(shown(), IsEmpty());
}

TEST_F(PutJudgeTest, PutsFromBeforeThereWasAPolicyAreNotJudged) {
  PutJudge judge;
  judge.look(std::vector{total("rogue", 100)}, kMondayNoon);
  EXPECT_THAT(judge.unexpected(), IsEmpty());
  EXPECT_THAT(judge.rules(), IsEmpty());
  judge.set_policy(operators_only());
  judge.look(std::vector{total("rogue", 103)}, kMondayNoon);
  ASSERT_EQ(judge.unexpected().size(), 1u);
  EXPECT_EQ(judge.unexpected()[0].count, 3u);
  judge.set_policy(nullptr);
  EXPECT_THAT(judge.unexpected(), IsEmpty());
}

TEST_F(PutJudgeTest, ASeriesIsTheSumOfWhatWasSeen) {
  struct Look {
    std::vector<PutTotal> totals;
    double days = 0;
  };
  struct Row {
    const char* what;
    std::vector<Look> looks;
    std::uint64_t shown;
  };
  PutTotal notify = total("rogue", 2), opened_again = total("rogue", 3), later = total("rogue", 5);
  notify.put.op = PutOp::write_notify;
  opened_again.serial = later.serial = 1;
  const Look other{{total("operator", 1), total("rogue", 3)}}, gone{{total("operator", 1)}, 8};
  const Row rows[] = {
      {"both operations", {{{total("rogue", 3), notify}}}, 5},
      {"a total that began anew", {{{total("rogue", 3)}}, {{total("rogue", 2)}}}, 5},
      {"one with another serial", {{{total("rogue", 3)}}, {{opened_again}}, {{later}}}, 8},
      {"an IOC that comes back", {{{total("rogue", 3)}}, {}, {{total("rogue", 2, 0, 2)}}}, 5},
      {"an IOC that is gone for a week", {{{total("rogue", 3)}}, {{}, 7}}, 3},
      {"and for longer", {{{total("rogue", 3)}}, {{}, 7.001}}, 0},
      {"a total that was dropped", {other, gone}, 0},
      {"and is there again", {other, gone, {{total("operator", 1), total("rogue", 1)}, 8}}, 1}};
  for (const Row& row : rows) {
    PutJudge judge;
    judge.set_policy(operators_only());
    for (const Look& look : row.looks) judge.look(look.totals, kMondayNoon + look.days * kDay);
    std::map<std::string, std::uint64_t> expected;
    if (row.shown != 0) expected["rogue default unexpected"] = row.shown;
    EXPECT_EQ(shown(judge), expected) << row.what;
  }
}

TEST_F(PutJudgeTest, TheOldestEndedSeriesLeaveFirst) {
  const auto user = [](int i) { return "user" + std::to_string(10000 + i); };
  std::vector<std::string> names;
  for (int i = 0; i < 5003; ++i) names.push_back(user(i));
  std::vector<PutTotal> totals;
  for (std::size_t i = 0; i < names.size(); ++i)
    totals.push_back(total(names[i], 1, kMondayNoon + static_cast<double>(i)));
  look(totals, kMondayNoon + 5003);
  look({}, kMondayNoon + 5003);
  const auto puts = judge_.unexpected();
  ASSERT_EQ(puts.size(), 5000u);
  EXPECT_EQ(puts.front().user, user(3));
}

TEST_F(PutJudgeTest, APutWithoutANameIsUnjudged) {
  PutTotal nameless = total("operator", 3), inside = total("seq", 5);
  nameless.put.pv = inside.put.pv = "";
  inside.put.inside = true;
  look({nameless, inside});
  EXPECT_THAT(shown(), ElementsAre(Pair("operator (no name) unjudged", 3),
                                   Pair("seq (no name) unjudged", 5)));
  EXPECT_THAT(decided(),
              UnorderedElementsAre(Pair("ops expected", 0), Pair("no forbidden", 0),
                                   Pair("default unexpected", 0), Pair("(no name) unjudged", 8)));
}

// A guest invents names; the put of somebody else stays.
TEST_F(PutJudgeTest, AFloodOfEndedSeriesPushesOutItsOwnClientsOnly) {
  std::vector<std::string> names;
  for (int i = 0; i < 12'000; ++i) names.push_back("SR:N" + std::to_string(10'000 + i));
  PutTotal other = total("guest", 1, kMondayNoon - 1);
  other.put.client = "10.0.0.8";
  look({other});
  std::vector<PutTotal> flood;
  for (const std::string& name : names) {
    flood.push_back(total("guest", 1));
    flood.back().put.pv = name;
  }
  look(flood);
  look({});
  const auto puts = judge_.unexpected();
  EXPECT_EQ(puts.size(), 5000u);
  EXPECT_EQ(std::ranges::count(puts, "10.0.0.8", &UnexpectedPutSample::client), 1);
}

// Strangers invent names until no series has room; then somebody does what is forbidden.
TEST_F(PutJudgeTest, AForbiddenPutAfterAFloodOfNamesIsJudged) {
  puts::PutTotals totals(100);
  const auto read = [&] {
    look(totals_of({{1, "ioc1"}}, totals.counts(), WallClock()));
    totals.note_reading(1);
  };
  for (int i = 0; i < 10'000; ++i) {
    const std::string number = std::to_string(i);
    totals.add(0, {1, "SR:N" + number, "10.0.1." + number, "stranger", "laptop"}, {1, 0}, 1);
  }
  read();
  const std::uint64_t before = totals.overflowed();
  EXPECT_GE(before, 9'900u);
  totals.open(7, 1, {1, "SR:Q1", "10.0.0.7", "guest", "console1"});
  totals.observe(7, {3, 0});
  totals.close(7);
  EXPECT_EQ(totals.overflowed(), before + 3) << "it has no series";
  read();
  EXPECT_THAT(shown(), testing::Contains(Pair("guest no forbidden", 3)));
}

// Of one client to one PV.
TEST_F(PutJudgeTest, PutsByBothProtocolsHaveASeriesEach) {
  PutTotal by_ca = total("rogue", 3), put = total("rogue", 5), call = total("rogue", 7);
  put.protocol = call.protocol = puts::Protocol::pva;
  call.put.op = PutOp::write_notify;
  RuleText no_callbacks = rule("no", Action::forbid, {"rogue"});
  no_callbacks.write = false;
  judge_.set_policy(policy({no_callbacks}));
  look({by_ca, put, call});
  call.count = 18;
  look({by_ca, put, call});
  std::vector<std::pair<bool, std::uint64_t>> counts;
  for (const auto& one : judge_.unexpected()) counts.emplace_back(one.by_pva, one.count);
  EXPECT_THAT(counts, ElementsAre(Pair(false, 3), Pair(true, 23))) << "a call is a write";
  EXPECT_THAT(decided(),
              UnorderedElementsAre(Pair("no forbidden", 0), Pair("default unexpected", 26)));
}

}  // namespace
}  // namespace ioc_exporter::policy
