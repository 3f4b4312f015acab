// Where traces go, as an operator says it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "delivery/sink_options.h"
#include "traces/sink.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::traces {

// One of the site file's traces.sinks: a file, or a server that takes traces.
struct SinkOptions : delivery::SinkOptions {
  std::string zipkin, otlp;
  std::optional<SpanNames> names;  // of a server; nothing: as the others
  TraceFilter filter;

  std::string kind() const { return !file.empty() ? "file" : !zipkin.empty() ? "zipkin" : "otlp"; }
};

struct OutletOptions {
  SinkOptions file, zipkin, otlp;  // by flags
  std::vector<SinkOptions> sinks;  // more of them, by the site's file
  SpanNames names = SpanNames::record;
  std::uint32_t memory_traces = 10'000;  // the newest
  std::uint64_t memory_bytes = 32u << 20;

  // All of them, with their names.
  std::vector<SinkOptions> all_sinks() const;
};

// Its rows; they refer to `options`.
void add_outlet_options(OptionTable& table, OutletOptions& options);

// traces.sinks of the site's file.
void read_sinks(Reader& section, OutletOptions& options);

}  // namespace ioc_exporter::traces
