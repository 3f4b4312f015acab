// TraceRing: bounded buffer of recent traces, for queries and followers.
#pragma once

#include <cstddef>
#include <vector>

#include "delivery/ring.h"
#include "traces/filter.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

struct RingOfTraces {
  using Item = SharedTrace;
  using Filter = TraceFilter;
  static constexpr std::size_t kShares = 1;
  static std::size_t share(const Trace&) { return 0; }
  static bool takes(const TraceFilter&, std::size_t) { return true; }
  static std::size_t bytes(const Trace& trace) { return delivery::footprint(trace); }
  static Time time(const Trace& trace) { return start_of(trace); }
};

class TraceRing : public TraceReceiver, public delivery::Ring<RingOfTraces> {
 public:
  using Ring::Ring;
  void receive(std::span<const SharedTrace> traces) override { add(traces); }
  std::vector<delivery::SinkSample> samples() const override { return {sample()}; }
};

}  // namespace ioc_exporter::traces

extern template class ioc_exporter::delivery::Ring<ioc_exporter::traces::RingOfTraces>;
