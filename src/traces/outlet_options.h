// Where traces go, as an operator says it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "delivery/receiver_options.h"
#include "traces/sink.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::traces {

// One of the site file's traces.sinks: a file, or a server that takes traces.
struct SinkOptions {
  std::string name;  // "" = by what it is
  std::string file, zipkin, otlp;
  std::uint64_t size = 100u << 20;
  std::chrono::milliseconds age = std::chrono::hours(24);
  unsigned count = 10;
  delivery::ReceiverOptions receiver;  // of a server
  std::optional<SpanNames> names;      // the same; nothing: as the others
  TraceFilter filter;
};

struct OutletOptions {
  SinkOptions file, zipkin, otlp;  // by flags
  std::vector<SinkOptions> sinks;  // more of them, by the site's file
  SpanNames names = SpanNames::record;

  // All of them, with their names.
  std::vector<SinkOptions> all_sinks() const;
};

// Its rows; they refer to `options`.
void add_outlet_options(OptionTable& table, OutletOptions& options);

// traces.sinks of the site's file.
void read_sinks(Reader& section, OutletOptions& options);

}  // namespace ioc_exporter::traces
