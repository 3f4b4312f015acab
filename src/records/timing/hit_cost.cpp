#include "records/timing/hit_cost.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>

#include "base/wall_clock.h"
#include "kernel/uprobe.h"

// Begins as nearly every compiled function does: the cost depends on the instruction below the
// breakpoint.
#if defined(__x86_64__)
asm(".pushsection .text\n.p2align 4\nioc_exporter_probed:\n push %rbp\n pop %rbp\n "
    "ret\n.popsection");
#elif defined(__aarch64__)
asm(".pushsection .text\n.p2align 4\nioc_exporter_probed:\n stp x29, x30, [sp, #-16]!\n"
    " ldp x29, x30, [sp], #16\n ret\n.popsection");
#endif
extern "C" void ioc_exporter_probed();

namespace ioc_exporter::records {
namespace {

std::optional<std::uint64_t> offset_in_own_file() {
  std::optional<std::uint64_t> offset;
  const auto look = [](dl_phdr_info* program, std::size_t, void* found) {
    const auto address = reinterpret_cast<std::uint64_t>(&ioc_exporter_probed) - program->dlpi_addr;
    for (int i = 0; i < program->dlpi_phnum; ++i)
      if (const auto& part = program->dlpi_phdr[i];
          part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
        *static_cast<std::optional<std::uint64_t>*>(found) = address - part.p_vaddr + part.p_offset;
    return 1;  // the program itself comes first
  };
  ::dl_iterate_phdr(look, &offset);
  return offset;
}

// The least of many short rounds: some are over before anything disturbs them, on any host.
double seconds_of_call() {
  constexpr int kRounds = 64, kCalls = 64;
  std::uint64_t least = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kCalls; ++i) ioc_exporter_probed();
    least = std::min(least, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
  }
  return static_cast<double>(least) * 1e-9 / kCalls;
}

}  // namespace

Result<double> measure_empty_probe() {
  const auto offset = offset_in_own_file();
  if (!offset) return error_in_words("find the exporter's own code in its file: no such segment");
  const double without = seconds_of_call();
  const auto probe = kernel::attach_empty_uprobe({"/proc/self/exe", *offset, ::getpid()});
  if (!probe) return probe.error();
  const double with = seconds_of_call();
  if (with > without) return with - without;
  return error_in_words("measure the cost of a probe: a call with it takes no longer");
}

}  // namespace ioc_exporter::records
