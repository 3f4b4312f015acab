#include "traces/json.h"

#include <gtest/gtest.h>

namespace ioc_exporter::traces {
namespace {

using std::chrono::microseconds;

Trace with_everything() {
  Trace trace;
  trace.id = {0x0a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
  trace.parent = 0xfedcba9876543210;
  trace.ioc = "linac";
  trace.pid = 812;
  trace.thread = "CAS-client";
  trace.tid = 815;
  trace.cause = {.kind = "ca",
                 .client = "10.0.0.7:40112",
                 .user = "ada",
                 .client_host = "console",
                 .pv = "MAG:1:SET",
                 .op = "write",
                 .value = putlog::Value{{1.5, std::int64_t{2}, std::string("three")}, true},
                 .seq = 77};
  trace.why = {"rate", "slower"};
  trace.cut = true;
  const Time start{std::chrono::nanoseconds(1'780'000'000'123'456'789)};
  trace.spans.push_back({.kind = SpanKind::put,
                         .id = 1,
                         .name = "MAG:1:SET",
                         .start = start,
                         .duration = microseconds(900)});
  trace.spans.push_back({.id = 2,
                         .parent = 1,
                         .name = "MAG:1:SET",
                         .record_type = "ao",
                         .start = start + microseconds(10),
                         .duration = microseconds(800),
                         .self = microseconds(50),
                         .until_return = microseconds(60),
                         .alarm = "MAJOR",
                         .status = "HIHI",
                         .thread = "cbLow"});
  trace.spans.push_back({.id = 3,
                         .parent = 2,
                         .name = "MAG:1:RB",
                         .record_type = "ai",
                         .start = start + microseconds(20),
                         .skipped = "active",
                         .cut = true});
  trace.spans.push_back({.kind = SpanKind::link_put,
                         .id = 4,
                         .parent = 2,
                         .name = "OTHER:X",
                         .start = start + microseconds(30),
                         .skipped = "disconnected"});
  return trace;
}

TEST(TraceJson, IsReadBackAsItWas) {
  const Trace trace = with_everything();
  const auto read = trace_from_json(to_json(trace));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, trace);
}

TEST(TraceJson, LeavesOutWhatIsNotKnown) {
  Trace trace;
  trace.id = {1};
  trace.ioc = "linac";
  trace.pid = 8;
  trace.tid = 9;
  trace.cause.kind = "scan";
  trace.spans.push_back({.id = 0x10,
                         .name = "A",
                         .start = Time(std::chrono::seconds(1)),
                         .duration = Duration(7),
                         .self = Duration(7)});
  EXPECT_EQ(
      to_json(trace),
      R"({"time":"1970-01-01T00:00:01.000000000Z","trace_id":"01000000000000000000000000000000",)"
      R"("ioc":"linac","pid":8,"tid":9,"cause":{"kind":"scan"},"why":[],)"
      R"("spans":[{"span_id":"0000000000000010","kind":"process","name":"A","offset_ns":0,)"
      R"("duration_ns":7,"self_ns":7}]})");
}

TEST(TraceJson, WhatMakesNoSenseIsAnError) {
  const std::string good = to_json(with_everything());
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string bad = good;
    const auto at = bad.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return bad.replace(at, before.size(), after);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        with("\"kind\":\"put\"", "\"kind\":\"kick\""), with("0a0102", "0a01"),
        with("0a0102", "zz0102"), with("0000000000000002", "2"),
        with("\"time\":\"2", "\"time\":\"x"), with("\"offset_ns\":0", "\"offset_ns\":\"0\""),
        with("\"offset_ns\"", "\"offset\"")})
    EXPECT_FALSE(trace_from_json(bad)) << bad;
}

}  // namespace
}  // namespace ioc_exporter::traces
