// Sinks of traces: where they go for good.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "delivery/receiver.h"
#include "delivery/sink.h"
#include "delivery/sink_runner.h"
#include "traces/filter.h"
#include "traces/out_span.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

// Traces wait until there are enough for one request, or for a while.
class Batch {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kSpans = 512;

  // `window`: for how long; 0: none waits.
  explicit Batch(std::chrono::milliseconds window) : window_(window) {}

  void take(SharedTrace trace, Clock::time_point now, std::vector<SharedTrace>& out);
  void end_due(Clock::time_point now, std::vector<SharedTrace>& out);
  void end_all(std::vector<SharedTrace>& out);
  std::optional<Clock::time_point> next_due() const { return due_; }

 private:
  const std::chrono::milliseconds window_;
  std::vector<SharedTrace> held_;
  std::size_t spans_ = 0;
  std::optional<Clock::time_point> due_;  // nothing: it holds none
};

// As delivery::Sink has it.
struct TraceKind {
  using Item = SharedTrace;
  using Entry = SharedTrace;
  using Filter = TraceFilter;
  using Stage = Batch;
  static std::size_t bytes(const Trace& trace) { return delivery::footprint(trace); }
  static std::string_view owner(const Trace& trace) { return trace.ioc; }
  static bool is_urgent(const Trace&) { return false; }
  static std::uint64_t weight(const SharedTrace&) { return 1; }
  static constexpr const char* kLog = "traces";
  static constexpr const char* kItems = "traces";
};

using delivery::SinkSample;
using Sink = delivery::Sink<SharedTrace>;
using SinkRunner = delivery::SinkRunner<TraceKind>;
using SinkSetup = delivery::SinkSetup<TraceKind>;

// Of an IOC without a name, as OpenTelemetry has it.
inline constexpr const char* kUnknownService = "unknown_service";
// Size at which a request is full, in bytes.
inline constexpr std::size_t kLargestBody = 512u << 10;

// A server that takes traces by HTTP.
struct Receiver {
  delivery::HttpReceiver http;
  SpanNames names = SpanNames::record;
};

}  // namespace ioc_exporter::traces

extern template class ioc_exporter::delivery::SinkRunner<ioc_exporter::traces::TraceKind>;
