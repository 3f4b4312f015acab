#include "traces/flame.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "example_traces.h"

namespace ioc_exporter::traces {
namespace {

TEST(Flame, SumsOwnTimeByTheWayThatLedToIt) {
  Flame flame;
  flame.add(scan_trace());
  flame.add(scan_trace());
  Trace put = scan_trace();
  put.spans.insert(put.spans.begin(), span(9, 0, "A.VAL", 0, 200'000, 0));
  put.spans[0].kind = SpanKind::put;
  put.spans[1].parent = 9;
  put.spans.resize(2);
  flame.add(put);
  EXPECT_EQ(flame.traces(), 3u);
  EXPECT_EQ(flame.folded(),
            "ps;put A.VAL;A 20000\n"
            "ps;scan 1 second;A 40000\n"
            "ps;scan 1 second;A;B 100000\n"
            "ps;scan 1 second;A;B;D 20000\n"
            "ps;scan 1 second;A;C 40000\n");
  const auto frames = flame.frames();
  EXPECT_EQ(frames.front().whole, Duration(220'000));
  const auto b = std::ranges::find(frames, "B", &Flame::Frame::name);
  ASSERT_NE(b, frames.end());
  EXPECT_EQ(b->whole, Duration(120'000));
  EXPECT_EQ(b->self, Duration(100'000));
  EXPECT_EQ(b->calls, 2u);
}

// A ';' in a record's name would begin a frame, a line end a stack.
TEST(Flame, NamesStayOneFrame) {
  Flame flame;
  Trace trace = scan_trace();
  trace.spans.resize(1);
  trace.spans[0].name = "A;B 7\nC\x1b";
  trace.cause = {.kind = "callback"};
  trace.ioc = "";
  flame.add(trace);
  EXPECT_EQ(flame.folded(), "-;callback;A,B 7_C_ 20000\n");
}

TEST(Flame, WhatIsTooMuchIsSummedUp) {
  Flame flame(4);  // all, ps, scan 1 second, A
  flame.add(scan_trace());
  EXPECT_EQ(flame.folded(),
            "ps;scan 1 second;A 20000\n"
            "ps;scan 1 second;A;(others) 80000\n");
  Flame deep;
  Trace chain = scan_trace();
  chain.spans.clear();
  for (SpanId i = 0; i < 1000; ++i) chain.spans.push_back(span(i + 1, i, "R", 0, 10, 1));
  deep.add(chain);
  EXPECT_EQ(deep.frames().size(), Flame::kDeepest + 1);
  EXPECT_EQ(deep.frames().front().whole, Duration(1000));
}

TEST(Flame, NothingIsNothing) {
  EXPECT_EQ(Flame().folded(), "");
  EXPECT_EQ(Flame().frames().front().whole, Duration(0));
}

}  // namespace
}  // namespace ioc_exporter::traces
