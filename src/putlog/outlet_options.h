// Where events go, as an operator says it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/pattern.h"
#include "delivery/sink_options.h"
#include "putlog/filter.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::putlog {

// One of the site file's putlog.sinks: a file, a receiver of lines over TCP, or Loki.
struct SinkOptions : delivery::SinkOptions {
  std::string tcp, loki;
  bool full_lines = false;                         // over TCP: our keys, not caPutLog's
  bool metadata = true;                            // of Loki
  std::optional<std::chrono::milliseconds> burst;  // nothing: as the others
  EventFilter filter;

  std::string kind() const;  // "file", "tcp" and so on
};

struct OutletOptions {
  SinkOptions file, tcp;           // by flags
  std::vector<SinkOptions> sinks;  // more of them, by the site's file
  std::chrono::milliseconds burst{5000};
  bool inside = false;  // all get writes inside the IOCs, too
  std::uint32_t memory_events = 10'000;
  std::uint64_t memory_bytes = 32u << 20;
  std::optional<Pattern> hidden_values;
  std::string salt_file;

  // All of them, with their names.
  std::vector<SinkOptions> all_sinks() const;
};

// Its rows; they refer to `options`.
void add_outlet_options(OptionTable& table, OutletOptions& options);

// putlog.sinks of the site's file. `gone`: what has no effect any more, in words.
void read_sinks(Reader& section, OutletOptions& options, std::vector<std::string>& gone);

}  // namespace ioc_exporter::putlog
