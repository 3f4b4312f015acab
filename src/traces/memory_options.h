// How many of the newest traces are kept in memory, as an operator says it.
#pragma once

#include <cstdint>

#include "base/option_table.h"

namespace ioc_exporter::traces {

struct MemoryOptions {
  std::uint32_t traces = 10'000;
  std::uint64_t bytes = 32u << 20;
};

// Its rows; they refer to `options`.
void add_memory_options(OptionTable& table, MemoryOptions& options);

}  // namespace ioc_exporter::traces
