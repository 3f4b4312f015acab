// Which traces a query or a follower wants.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/pattern.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

struct TraceFilter {
  std::optional<Pattern> record = {};  // one of its spans has such a name
  std::optional<Pattern> ioc = {};
  std::string cause = {};               // cause of the chain, as in Cause::kind; "" = any
  std::optional<Duration> slower = {};  // it took at least so long

  bool wants(const Trace& trace) const;
};

// When it began, and from there to the latest end that was seen.
Time start_of(const Trace& trace);
Duration duration_of(const Trace& trace);

}  // namespace ioc_exporter::traces
