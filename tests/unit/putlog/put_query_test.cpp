// Queries of the put log, and the filter that a sink has.
#include <gmock/gmock.h>

#include <cstdlib>
#include <ctime>

#include "base/query.h"
#include "events.h"
#include "putlog/filter.h"
#include "putlog/put_query.h"
#include "support/value_of.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNow{1'800'000'000s};

Result<PutQuery> parse(std::string_view query) {
  return parse_put_query(query, kNow);
}

struct PutQueryTest : ::testing::Test {
  PutQueryTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(PutQueryTest, WithoutAnythingAsksForAll) {
  const auto query = value_of(parse(""));
  EXPECT_FALSE(query.follow);
  EXPECT_FALSE(query.since);
  EXPECT_TRUE(query.filter.wants(event(1)));
  EXPECT_TRUE(query.filter.wants(PutEvent()));
  EXPECT_TRUE(parse("pv=&client=&user=&since=&limit="));  // a form that was left empty
}

TEST_F(PutQueryTest, WritesInsideAreAskedFor) {
  PutEvent one = event(1);
  one.inside = true;
  EXPECT_FALSE(value_of(parse("")).filter.wants(one));
  EXPECT_TRUE(value_of(parse("inside=1")).filter.wants(one));
  EXPECT_TRUE(value_of(parse("inside=1")).filter.wants(event(1)));
  one.action = "forbidden";
  EXPECT_TRUE(value_of(parse("")).filter.wants(one));
}

TEST_F(PutQueryTest, HasFilters) {
  const auto query =
      parse("pv=SR%3A.*&client=10%5C..*&user=ada&ioc=ps&unexpected=1&follow=1&limit=5");
  ASSERT_TRUE(query) << query.error().message();
  EXPECT_TRUE(query->follow);
  EXPECT_EQ(query->limit, 5u);
  PutEvent one = event(1);
  EXPECT_FALSE(query->filter.wants(one));
  one.action = "forbidden";
  EXPECT_TRUE(query->filter.wants(one));
  for (std::string PutEvent::*text :
       {&PutEvent::pv, &PutEvent::client, &PutEvent::user, &PutEvent::ioc}) {
    PutEvent other = one;
    other.*text = "x";
    EXPECT_FALSE(query->filter.wants(other));
  }
}

TEST_F(PutQueryTest, AnExclamationMarkAsksForAllOthers) {
  const auto query = value_of(parse("user=!fofb%7Canna&pv=SR%3A.*"));
  PutEvent one = event(1);
  one.pv = "SR:X";
  EXPECT_TRUE(query.filter.wants(one));
  for (const char* user : {"fofb", "anna"}) {
    one.user = user;
    EXPECT_FALSE(query.filter.wants(one));
  }
  EXPECT_FALSE(parse("user=!("));
}

TEST_F(PutQueryTest, SinceIsASpanOrATime) {
  EXPECT_EQ(*parse("since=10m")->since, kNow - 10min);
  EXPECT_EQ(*parse("since=90")->since, kNow - 90s);
  EXPECT_EQ(*parse("since=today")->since, kNow - 8h);
  EXPECT_EQ(*parse("since=yesterday")->since, kNow - 32h);
  EXPECT_EQ(parse("since=1799999999.5")->since->time_since_epoch(), 1'799'999'999'500ms);
}

// kNow is 2027-01-15 08:00 UTC.
TEST_F(PutQueryTest, SinceIsATimeAsItIsPrinted) {
  const auto since = [](const std::string& text) {
    const auto query = parse("since=" + percent_encoded(text));
    EXPECT_TRUE(query) << text;
    return query ? query->since : Since();
  };
  const auto at = [](std::chrono::seconds after_midnight) { return kNow - 8h + after_midnight; };
  EXPECT_EQ(since("07:59:00"), at(7h + 59min));
  EXPECT_EQ(since("07:59"), at(7h + 59min));
  EXPECT_EQ(since("07:59:01.250"), at(7h + 59min + 1s) + 250ms);
  EXPECT_EQ(since("23:00:00"), at(-1h)) << "yesterday";
  EXPECT_EQ(since("01-14 23:00:00"), at(-1h));
  EXPECT_EQ(since("01-16 00:00:00"), at(24h) - 365 * 24h) << "last year";
  EXPECT_EQ(since("2027-01-14"), at(-24h));
  EXPECT_EQ(since("2027-01-14T23:00:00Z"), at(-1h));
  EXPECT_EQ(since("2027-01-14T23:00:00.5+02:00"), at(-3h) + 500ms);
  EXPECT_EQ(since("2027-01-14t23:00:00-01:30"), at(30min));
  EXPECT_EQ(since("2027-01-14 23:00:00.123 +0100"), at(-2h) + 123ms);
  for (const char* bad : {"25:00:00", "07:60", "13-01 07:00", "2027-02-30", "2027-01-14X07:00",
                          "07:59:00 x", "2027-01-14T07:00:00+1", "07:5", "2027-1-14", "07:59:00+"})
    EXPECT_FALSE(parse("since=" + percent_encoded(bad))) << bad;
}

// Whoever may ask makes it up.
TEST_F(PutQueryTest, APatternThatNeedsMuchMemoryIsRefusedOrSlow) {
  const auto large = parse("pv=%5CpL{100}");  // a letter of any script is some 400 instructions
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message().find("pv: regular expression"), std::string::npos);
  const auto states = parse("pv=.*a.{14}");  // 2^14 of them
  ASSERT_TRUE(states) << states.error().message();
  std::string name;
  for (unsigned i = 0; i < 20'000; ++i) name += (i * i / 7) % 2 == 0 ? 'a' : 'b';
  name.replace(name.size() - 15, 1, "a");
  EXPECT_TRUE(states->filter.wants(event(1, name)));
  name.replace(name.size() - 15, 1, "b");
  EXPECT_FALSE(states->filter.wants(event(1, name)));
}

TEST_F(PutQueryTest, NamesTheError) {
  for (const auto& [query, problem] : {std::pair{std::string("pv=("), "pv: regular expression"},
                                       {"since=tomorrow", "since: "},
                                       {"since=1e300", "since: "},
                                       {"since=9300000000", "since: "},
                                       {"pv=(?:[ab]?[c-f]?[^a-f]?){333}.*%23", "pv: "},
                                       {"since=-5", "since: "},
                                       {"limit=0", "limit: "},
                                       {"follow=maybe", "follow: "},
                                       {"unexpected=2", "unexpected: "},
                                       {"user=" + std::string(1001, 'a'), "1000 characters"}}) {
    const auto parsed = parse(query);
    ASSERT_FALSE(parsed) << query;
    EXPECT_THAT(parsed.error().message(), testing::HasSubstr(problem));
  }
}

Pattern pattern(const std::string& text) {
  return *Pattern::compile(text);
}

TEST(PutFilter, EachPatternIsForAWholeName) {
  EventFilter filter;
  filter.pv.include = pattern("SR:.*");
  filter.pv.exclude = pattern(".*:Noise");
  filter.user.include = pattern("ada|bob");
  EXPECT_TRUE(filter.wants(event(1, "SR:I")));
  EXPECT_FALSE(filter.wants(event(1, "SR:Noise")));
  EXPECT_FALSE(filter.wants(event(1, "XSR:I")));
  // Puts of a client that fills the exporter's tables have no PV name, and are told all the same.
  EXPECT_TRUE(filter.wants(event(1, "")));
  PutEvent other = event(1);
  other.user = "adam";
  EXPECT_FALSE(filter.wants(other));
}

TEST(PutFilter, AClientIsAnAddressWithOrWithoutItsPort) {
  EventFilter filter;
  filter.client.include = pattern("10\\.0\\.0\\.7|10\\.0\\.0\\.8:1|fe80::1");
  PutEvent one = event(1);
  EXPECT_TRUE(filter.wants(one));
  for (const auto& [client, wanted] : {std::pair{"10.0.0.8:1", true},
                                       {"10.0.0.8:2", false},
                                       {"[fe80::1]:5", true},
                                       {"fe80::1", true}}) {
    one.client = client;
    EXPECT_EQ(filter.wants(one), wanted) << client;
  }
}

TEST(PutFilter, UnexpectedSelectsPutsThatThePolicyDoesNotAllow) {
  EventFilter filter;
  filter.unexpected = true;
  PutEvent one = event(1);
  for (const auto& [action, wanted] : {std::pair{"", false},
                                       {"allowed", false},
                                       {"expected", false},
                                       {"unexpected", true},
                                       {"forbidden", true}}) {
    one.action = action;
    EXPECT_EQ(filter.wants(one), wanted) << action;
  }
}

// A client chooses its user's name: with one that RE2 never matches it would not be in the log.
TEST(PutFilter, NobodyEscapesEverythingByHisName) {
  EventFilter filter;
  filter.user.include = pattern(".*");
  PutEvent one = event(1);
  for (const std::string name : {"\xff", "a\nb", "\xe2\x80\xa8", "\r", ""}) {
    one.user = name;
    EXPECT_TRUE(filter.wants(one)) << name;
  }
}

// The server takes all of these for one.
TEST(PutFilter, NobodyEscapesByAnotherSpellingOfAPv) {
  EventFilter one;
  one.pv.include = pattern("SR:Q1");
  EventFilter with_field;
  with_field.pv.include = pattern("SR:Q1\\.VAL");
  for (const char* pv :
       {"SR:Q1", "SR:Q1.VAL", "SR:Q1.VAL$", "SR:Q1.{\"ts\":{}}", "SR:Q1.VAL[0:1]"}) {
    EXPECT_TRUE(one.wants(event(1, pv))) << pv;
    EXPECT_TRUE(with_field.wants(event(1, pv))) << pv;
  }
  EXPECT_FALSE(one.wants(event(1, "SR:Q1.DESC")));
  EventFilter quiet;
  quiet.pv.exclude = pattern(".*:Noise.*");
  EXPECT_FALSE(quiet.wants(event(1, "SR:Noise.VAL$")));
  EXPECT_TRUE(quiet.wants(event(1, "SR:Q1.{\"sync\":{\"m\":\"first\",\"s\":\":Noise\"}}")));
}

TEST(PutFilter, AGroupIsWantedByItsMembersButNotWhereItIsLeftOut) {
  PutEvent group = event(1, "A:grp");
  group.fields = {{"B:x.VAL", "DBR_LONG", 1, {}, {}}, {"B:y.VAL", "DBR_LONG", 1, {}, {}}};
  const auto wants = [&group](const char* include, const char* exclude) {
    EventFilter filter;
    if (include != nullptr) filter.pv.include = pattern(include);
    if (exclude != nullptr) filter.pv.exclude = pattern(exclude);
    return filter.wants(group);
  };
  EXPECT_TRUE(wants("B:y", nullptr) && wants("B:.*", "B:x") && wants(nullptr, "B:.*"));
  EXPECT_FALSE(wants("B:z", nullptr) || wants("B:x", "B:x"));
  EXPECT_FALSE(wants(nullptr, "A:grp") || wants("B:x", "A:grp"));
}

}  // namespace
}  // namespace ioc_exporter::putlog
