// Traces for the tests of the room.
#pragma once

#include <utility>

#include "traces/trace.h"

namespace ioc_exporter::traces {

inline Time at(std::int64_t nanoseconds) {
  using namespace std::chrono_literals;
  return std::chrono::sys_days{std::chrono::year{2026} / 11 / 22} + 23h + 5us +
         Duration(nanoseconds);
}

// Times in nanoseconds, of a whole trace's beginning.
inline Span span(SpanId id, SpanId parent, std::string name, std::int64_t start,
                 std::int64_t duration, std::int64_t self) {
  Span made;
  made.id = id;
  made.parent = parent;
  made.name = std::move(name);
  made.record_type = "calc";
  made.start = at(start);
  made.duration = Duration(duration);
  made.self = Duration(self);
  return made;
}

// A scan of A, which processes B and C; B processes D.
inline Trace scan_trace() {
  Trace trace;
  trace.id = {0xab, 0xcd};
  trace.ioc = "ps";
  trace.pid = 812;
  trace.thread = "scan-1";
  trace.tid = 815;
  trace.cause.kind = "scan";
  trace.cause.scan = "1 second";
  trace.why = {"rate"};
  trace.spans = {span(1, 0, "A", 0, 100'000, 20'000), span(2, 1, "B", 10'000, 60'000, 50'000),
                 span(3, 2, "D", 20'000, 10'000, 10'000), span(4, 1, "C", 75'000, 20'000, 20'000)};
  return trace;
}

inline SharedTrace shared(Trace trace) {
  return std::make_shared<const Trace>(std::move(trace));
}

}  // namespace ioc_exporter::traces
