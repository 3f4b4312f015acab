#include "traces/filter.h"

#include <algorithm>

#include "putlog/filter.h"

namespace ioc_exporter::traces {
bool TraceFilter::wants(const Trace& trace) const {
  if (!cause.empty() && trace.cause.kind != cause) return false;
  if (slower && duration_of(trace) < *slower) return false;
  if (ioc && !putlog::matches(*ioc, trace.ioc)) return false;
  return !record || std::ranges::any_of(trace.spans, [this](const Span& span) {
    return putlog::matches(*record, span.name);
  });
}

Time start_of(const Trace& trace) {
  return trace.spans.empty() ? Time() : trace.spans.front().start;
}

Duration duration_of(const Trace& trace) {
  Time end = start_of(trace);
  for (const Span& span : trace.spans) end = std::max(end, span.start + span.duration);
  return end - start_of(trace);
}

}  // namespace ioc_exporter::traces
