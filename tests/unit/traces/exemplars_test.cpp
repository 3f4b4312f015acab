#include "traces/exemplars.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "exposition/openmetrics_encoder.h"

namespace ioc_exporter::traces {
namespace {

using std::chrono::milliseconds;

// A put-callback to PV "A", whose record sets off B, which completes later, and C, which is active.
Trace chain() {
  Trace trace;
  trace.id = {0xab};
  trace.ioc = "i";
  trace.cause = {.kind = "ca", .op = "write_notify"};
  const Time start{std::chrono::seconds(1'790'000'000)};
  trace.spans = {
      {.kind = SpanKind::put, .id = 1, .name = "A", .start = start, .duration = milliseconds(9)},
      {.id = 2, .parent = 1, .name = "A", .start = start, .duration = milliseconds(8)},
      {.id = 3,
       .parent = 2,
       .name = "B",
       .start = start,
       .duration = milliseconds(7),
       .until_return = milliseconds(2)},
      {.id = 4, .parent = 2, .name = "C", .start = start, .skipped = "active"},
      {.id = 5,
       .parent = 2,
       .name = "D",
       .start = start,
       .duration = milliseconds(1),
       .cut = true}};
  return trace;
}

exposition::ExemplarTable noted(const Trace& trace) {
  exposition::ExemplarBook book;
  const SharedTrace shared = std::make_shared<const Trace>(trace);
  TraceExemplars(book).receive({&shared, 1});
  return book.encoded(exposition::OpenMetricsEncoder());
}

TEST(TraceExemplars, AreOfCallsThatWereSeenToTheirEnd) {
  const auto table = noted(chain());
  const auto& calls = table.at("epics_record_process_duration_seconds");
  ASSERT_EQ(calls.size(), 2u);
  const auto& a = calls.at(R"(ioc="i",record="A")");
  EXPECT_EQ(a.labels.bytes, R"(trace_id="ab000000000000000000000000000000")");
  EXPECT_DOUBLE_EQ(a.value, 0.008);
  EXPECT_DOUBLE_EQ(a.time_seconds, 1'790'000'000);
  EXPECT_DOUBLE_EQ(calls.at(R"(ioc="i",record="B")").value, 0.002);
}

TEST(TraceExemplars, AreOfPutCallbacks) {
  Trace trace = chain();
  EXPECT_DOUBLE_EQ(
      noted(trace).at("epics_put_duration_seconds").at(R"(ioc="i",protocol="ca",pv="A")").value,
      0.009);
  trace.cause.op = "write";
  EXPECT_FALSE(noted(trace).contains("epics_put_duration_seconds"));
}

}  // namespace
}  // namespace ioc_exporter::traces
