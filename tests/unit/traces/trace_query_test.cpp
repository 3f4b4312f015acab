#include "traces/trace_query.h"

#include <gtest/gtest.h>

#include "example_traces.h"

namespace ioc_exporter::traces {
namespace {

using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNow{std::chrono::seconds(2'000'000'000)};

std::string refusal(std::string_view query) {
  const auto asked = parse_trace_query(query, kNow);
  return asked ? "" : asked.error().message();
}

bool wants(std::string_view query, const Trace& trace) {
  const auto asked = parse_trace_query(query, kNow);
  EXPECT_TRUE(asked) << asked.error().message();
  return asked && asked->filter.wants(trace);
}

TEST(TraceQuery, FiltersByRecordIocCauseAndDuration) {
  const Trace trace = scan_trace();
  for (const char* query : {"", "record=A", "record=%5BD%5D", "ioc=p.", "cause=scan",
                            "slower=100us", "slower=0.0001", "record=B&ioc=ps&slower=99us"})
    EXPECT_TRUE(wants(query, trace)) << query;
  for (const char* query : {"record=a", "record=A%7C", "ioc=p", "cause=ca", "slower=101us",
                            "slower=1ms", "record=B&cause=once"})
    EXPECT_EQ(wants(query, trace), std::string(query) == "record=A%7C") << query;
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
  const auto asked = parse_trace_query("follow=1&since=10m&limit=5&for=2m", kNow);
  ASSERT_TRUE(asked) << asked.error().message();
  EXPECT_TRUE(asked->follow);
  EXPECT_EQ(asked->since, Time(kNow - 10min));
  EXPECT_EQ(asked->limit, 5u);
  EXPECT_EQ(asked->lasts, 2min);
  EXPECT_EQ(parse_trace_query("", kNow)->lasts, std::nullopt);
}

TEST(TraceQuery, WhatMakesNoSenseIsNamed) {
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

}  // namespace
}  // namespace ioc_exporter::traces
