// Traces that are kept.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "example_traces.h"
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

}  // namespace
}  // namespace ioc_exporter::traces
