#include "traces/memory_options.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint32_t kMostTraces = 1'000'000;

}  // namespace

void add_memory_options(OptionTable& table, MemoryOptions& options) {
  table.add("Traces",
            {{"traces.kept=N", "Newest traces in memory, for ioc_exporter trace and /flame",
              whole_number(options.traces, 1, kMostTraces)},
             {"traces.memory=BYTES", "Memory for them", bytes(options.bytes)}});
}

}  // namespace ioc_exporter::traces
