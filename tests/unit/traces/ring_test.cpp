// Traces that are kept: the ring and exemplars.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "example_traces.h"
#include "exposition/openmetrics_encoder.h"
#include "traces/exemplars.h"
#include "traces/ring.h"

namespace ioc_exporter::traces {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

SharedTrace numbered(std::uint8_t number, const std::string& record = "A") {
  Trace trace = scan_trace();
  trace.id[15] = number;
  for (Span& span : trace.spans) span.start += std::chrono::seconds(number);
  trace.spans[0].name = record;
  return shared(std::move(trace));
}

std::vector<int> numbers(const std::vector<SharedTrace>& traces) {
  std::vector<int> all;
  for (const SharedTrace& trace : traces) all.push_back(trace->id[15]);
  return all;
}

// The ring itself is tested with puts.
TEST(TraceRing, KeepsTheNewestByTheirStart) {
  TraceRing ring({.items = 3, .bytes = 1 << 20});
  const auto follower = ring.follow({.record = *Pattern::compile("X")}, {}, "a");
  for (std::uint8_t number = 1; number <= 4; ++number)
    ring.receive(std::vector{numbered(number, number % 2 == 0 ? "X" : "A")});
  EXPECT_EQ(numbers(*ring.find({}, {})), (std::vector{2, 3, 4}));
  EXPECT_EQ(numbers(*ring.find({}, at(0) + 3s)), (std::vector{3, 4}));
  EXPECT_EQ(numbers(*ring.find({.record = *Pattern::compile("X")}, {})), (std::vector{2, 4}));
  EXPECT_EQ(follower->next(0ms).lost, 1u);
  EXPECT_EQ(numbers(follower->next(0ms).items), (std::vector{2, 4}));
}

TEST(TraceRing, IsBoundedByTheMemoryOfTraces) {
  Trace large = scan_trace();
  large.spans.resize(1000, span(7, 1, std::string(60, 'x'), 0, 1, 1));
  EXPECT_GT(delivery::footprint(large), 1000 * (sizeof(Span) + 60));
  EXPECT_LT(delivery::footprint(large), 1000 * (sizeof(Span) + 200));
  TraceRing ring({.items = 100, .bytes = 5 * delivery::footprint(large)});
  for (int i = 0; i < 50; ++i) ring.receive(std::vector{shared(large)});
  EXPECT_EQ(ring.find({}, {})->size(), 5u);
}

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
