// What the kernel counts of a BPF program while kernel.bpf_stats_enabled is 1.
#pragma once

#include <cstdint>

namespace ioc_exporter::kernel {

struct ProgramStats {
  std::uint64_t runs = 0;
  std::uint64_t run_time_ns = 0;
};

}  // namespace ioc_exporter::kernel
