// The kernel's counts of a BPF program while kernel.bpf_stats_enabled is 1.
#pragma once

#include <cstdint>
#include <optional>

namespace ioc_exporter::kernel {

struct ProgramStats {
  std::uint64_t runs = 0;
  std::uint64_t run_time_ns = 0;
};

// Runs and run time of one loaded program; nothing while kernel.bpf_stats_enabled is 0.
std::optional<ProgramStats> program_stats(int program_fd);

// A sum is known when any part of it is.
inline void add_stats(std::optional<ProgramStats>& to, const std::optional<ProgramStats>& more) {
  if (!more) return;
  if (!to) to.emplace();
  to->runs += more->runs;
  to->run_time_ns += more->run_time_ns;
}

}  // namespace ioc_exporter::kernel
