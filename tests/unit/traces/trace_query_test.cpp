// Queries of traces, and which traces the kernel makes for them.
#include <gtest/gtest.h>

#include "example_traces.h"
#include "support/value_of.h"
#include "traces/selectors.h"
#include "traces/trace_query.h"

namespace ioc_exporter::traces {
namespace {

using Clock = TraceSelectors::Clock;
using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNow{std::chrono::seconds(2'000'000'000)};

std::string refusal(std::string_view query) {
  return error_of(parse_trace_query(query, kNow));
}

bool wants(std::string_view query, const Trace& trace) {
  const auto asked = parse_trace_query(query, kNow);
  EXPECT_TRUE(asked) << asked.error().message();
  return asked && asked->filter.wants(trace);
}

TEST(TraceQuery, FiltersByRecordIocCauseAndDuration) {
  const Trace trace = scan_trace();
  for (const char* query : {"", "record=A", "record=%5BD%5D", "ioc=p.", "cause=scan", "record=A%7C",
                            "slower=100us", "slower=0.0001", "record=B&ioc=ps&slower=99us"})
    EXPECT_TRUE(wants(query, trace)) << query;
  for (const char* query :
       {"record=a", "ioc=p", "cause=ca", "slower=101us", "slower=1ms", "record=B&cause=once"})
    EXPECT_FALSE(wants(query, trace)) << query;
}

// Of an asynchronous record, what came after the others.
TEST(TraceQuery, ATraceLastsUntilItsLatestEnd) {
  Trace trace = scan_trace();
  EXPECT_EQ(duration_of(trace), 100us);
  trace.spans[2].duration = 2ms;
  EXPECT_EQ(duration_of(trace), 2020us);
  EXPECT_EQ(start_of(trace), at(0));
  EXPECT_EQ(duration_of(Trace()), 0ns);
}

TEST(TraceQuery, WordsOfAFollower) {
  const auto asked = value_of(parse_trace_query("follow=1&since=10m&limit=5&for=2m", kNow));
  EXPECT_TRUE(asked.follow);
  EXPECT_EQ(asked.since, Time(kNow - 10min));
  EXPECT_EQ(asked.limit, 5u);
  EXPECT_EQ(asked.lasts, 2min);
  EXPECT_EQ(parse_trace_query("", kNow)->lasts, std::nullopt);
}

TEST(TraceQuery, InvalidParametersAreNamed) {
  EXPECT_TRUE(refusal("record=(").starts_with("record: "));
  EXPECT_TRUE(refusal("ioc=(").starts_with("ioc: "));
  EXPECT_TRUE(refusal("cause=link").starts_with("cause: \"link\" is none of scan, "));
  EXPECT_TRUE(refusal("slower=soon").starts_with("slower: "));
  EXPECT_TRUE(refusal("slower=-1us").starts_with("slower: "));
  EXPECT_TRUE(refusal("since=tomorrow").starts_with("since: "));
  EXPECT_TRUE(refusal("follow=maybe").starts_with("follow: "));
  EXPECT_TRUE(refusal("limit=0").starts_with("limit: "));
  EXPECT_EQ(refusal("for=601s"), "for: \"601s\" is not from 1ms to 10m");
  EXPECT_EQ(refusal("for=0s"), "for: \"0s\" is not from 1ms to 10m");
}

TEST(TraceQuery, ADemandNamesItsRecords) {
  const auto demand = parse_demand("record=SR:.*&ioc=ps&cause=ca&slower=5ms&for=1m");
  ASSERT_TRUE(demand) << demand.error().message();
  EXPECT_TRUE(demand->records.matches("SR:I"));
  EXPECT_TRUE(demand->ioc && demand->ioc->matches("ps"));
  EXPECT_EQ(demand->cause, "ca");
  EXPECT_EQ(demand->slower, 5ms);
  EXPECT_EQ(demand->lasts, 1min);
  EXPECT_EQ(parse_demand("record=A")->lasts, 10s);
  EXPECT_EQ(parse_demand("record=A")->ticket, "");
  EXPECT_EQ(parse_demand("record=A&demand=t7")->ticket, "t7");
  for (const char* query : {"", "record=", "ioc=ps", "record=A&for=11m", "record=("})
    EXPECT_FALSE(parse_demand(query)) << query;
}

TEST(TraceQuery, ShortDurations) {
  EXPECT_EQ(*parse_short_duration("250us"), 250us);
  EXPECT_EQ(*parse_short_duration("1.5us"), 1500ns);
  EXPECT_EQ(*parse_short_duration("800ns"), 800ns);
  EXPECT_EQ(*parse_short_duration("5ms"), 5ms);
  EXPECT_EQ(*parse_short_duration("1m30s"), 90s);
  for (const char* text : {"", "us", "1 us", "nanus", "1e99us", "5"}) {
    const auto parsed = parse_short_duration(text);
    EXPECT_EQ(parsed.ok(), std::string(text) == "5") << text;
  }
}

// Demands, without a kernel that is told of them.

std::shared_ptr<const Database> database_of(std::size_t records) {
  auto database = std::make_shared<Database>();
  for (std::size_t i = 0; i < records; ++i)
    database->records.push_back({0x1000 + i, "A:" + std::to_string(i), 0});
  database->aliases.push_back({"ALIAS", 1});
  return database;
}

Demand demand_of(const std::string& records, const std::string& holder = "local",
                 const std::string& ticket = "") {
  return {.records = *Pattern::compile(records),
          .ioc = {},
          .slower = {},
          .cause = "",
          .holder = holder,
          .ticket = ticket};
}

class TraceSelectorsTest : public testing::Test {
 protected:
  void SetUp() override { EXPECT_TRUE(selectors_.add(3, 1, "one", database_of(10), now_)); }
  Result<std::size_t> ask(const Demand& demand) {
    auto matches = TraceSelectors::match(demand, selectors_.places(), Clock::now() + 1min);
    return selectors_.ask(demand, *matches, now_);
  }

  const Clock::time_point now_ = Clock::now();
  TraceSelectors selectors_{Options(), {}};
};

TEST_F(TraceSelectorsTest, ADemandIsForRecordsByNameAndAlias) {
  EXPECT_EQ(*ask(demand_of("NONE")), 0u);
  EXPECT_FALSE(selectors_.wants_all(3));
  EXPECT_EQ(*ask(demand_of("A:2|ALIAS")), 2u);
  EXPECT_TRUE(selectors_.wants_all(3));
  EXPECT_TRUE(selectors_.look(now_ + 5s));
  EXPECT_TRUE(selectors_.wants_all(3));
  EXPECT_TRUE(selectors_.look(now_ + 10s));
  EXPECT_FALSE(selectors_.wants_all(3));
}

TEST_F(TraceSelectorsTest, ItIsForIocsThatComeLater) {
  Demand demand = demand_of("A:.*");
  demand.ioc = *Pattern::compile("one|two");
  EXPECT_EQ(*ask(demand), 10u);
  EXPECT_TRUE(selectors_.add(4, 1, "two", database_of(2), now_));
  EXPECT_TRUE(selectors_.add(5, 1, "three", database_of(2), now_));
  EXPECT_TRUE(selectors_.wants_all(4));
  EXPECT_FALSE(selectors_.wants_all(5));
  EXPECT_TRUE(selectors_.remove(4, 1));
  EXPECT_TRUE(selectors_.add(4, 2, "three", database_of(2), now_));
  EXPECT_FALSE(selectors_.wants_all(4));
  EXPECT_TRUE(selectors_.add(5, 1, "two", database_of(3), now_));  // its name is known now
  EXPECT_TRUE(selectors_.wants_all(5));
}

// Between matching and asking no lock is held.
TEST_F(TraceSelectorsTest, AnIocThatComesWhileItIsMatchedIsNotMissed) {
  const Demand demand = demand_of("A:.*");
  auto matches = value_of(TraceSelectors::match(demand, selectors_.places(), Clock::now() + 1min));
  EXPECT_TRUE(selectors_.add(3, 1, "one", database_of(4), now_));
  EXPECT_TRUE(selectors_.add(4, 1, "two", database_of(2), now_));
  EXPECT_EQ(*selectors_.ask(demand, matches, now_), 6u);
}

TEST_F(TraceSelectorsTest, MatchingEndsInTime) {
  EXPECT_EQ(
      error_of(TraceSelectors::match(demand_of(".*"), selectors_.places(), Clock::now() - 1s)),
      "trace .*: it takes too long to find these records: ask by a simpler pattern");
}

TEST_F(TraceSelectorsTest, EachHolderHasAFewDemands) {
  for (int holder = 0; holder < 4; ++holder) {
    const std::string name = std::to_string(holder);
    for (std::size_t i = 0; i < TraceSelectors::kMostOfOne; ++i)
      EXPECT_TRUE(ask(demand_of("A:1", name)));
    const auto more = ask(demand_of("A:1", name));
    ASSERT_FALSE(more);
    if (holder < 3) {
      EXPECT_EQ(more.error().message(),
                "trace A:1: 4 demands of this user or address are active already");
    }
  }
  EXPECT_EQ(ask(demand_of("A:1", "new")).error().message(),
            "trace A:1: 16 demands are active already");
  EXPECT_TRUE(selectors_.may_ask(demand_of("A:1", "new"), now_ + 10s));
}

TEST_F(TraceSelectorsTest, ATicketEndsADemand) {
  EXPECT_TRUE(ask(demand_of("A:1", "local", "t")));
  EXPECT_TRUE(selectors_.end("other", "t"));
  EXPECT_TRUE(selectors_.end("local", "u"));
  EXPECT_TRUE(selectors_.end("local", ""));
  EXPECT_TRUE(selectors_.wants_all(3));
  EXPECT_TRUE(selectors_.end("local", "t"));
  EXPECT_FALSE(selectors_.wants_all(3));
}

TEST_F(TraceSelectorsTest, InvalidDemandsAreRefused) {
  Demand demand = demand_of("A:1");
  demand.cause = "weather";
  EXPECT_FALSE(selectors_.may_ask(demand, now_));
  demand.cause = "scan";
  EXPECT_TRUE(selectors_.may_ask(demand, now_));
  demand.lasts = 2h;
  EXPECT_FALSE(selectors_.may_ask(demand, now_));
}

}  // namespace
}  // namespace ioc_exporter::traces
