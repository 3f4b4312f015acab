#include "kernel/hit_cost.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/wall_clock.h"
#include "kernel/uprobe.h"

// They begin with an instruction that the kernel emulates, with one that it steps, and with one for
// which that depends on the kernel.
#if defined(__x86_64__)
asm(".pushsection .text\n.p2align 4\nioc_exporter_emulated:\n push %rbp\n pop %rbp\n ret\n"
    ".p2align 4\nioc_exporter_stepped:\n sub $8,%rsp\n add $8,%rsp\n ret\n"
    ".p2align 4\nioc_exporter_long_nop:\n nopl 0(%rax,%rax,1)\n ret\n.popsection");
extern "C" void ioc_exporter_long_nop();
#elif defined(__aarch64__)
asm(".pushsection .text\n.p2align 4\nioc_exporter_emulated:\n b 1f\n1: ret\n"
    ".p2align 4\nioc_exporter_stepped:\n stp x29, x30, [sp, #-16]!\n"
    " ldp x29, x30, [sp], #16\n ret\n.popsection");
#endif
extern "C" void ioc_exporter_emulated();
extern "C" void ioc_exporter_stepped();

namespace ioc_exporter::kernel {
namespace {

using Function = void (*)();

std::optional<std::uint64_t> offset_in_own_file(Function function) {
  struct Search {
    std::uint64_t address;
    std::optional<std::uint64_t> offset;
  } search{reinterpret_cast<std::uint64_t>(function), {}};
  const auto look = [](dl_phdr_info* program, std::size_t, void* found) {
    auto& [at, offset] = *static_cast<Search*>(found);
    const auto address = at - program->dlpi_addr;
    for (int i = 0; i < program->dlpi_phnum; ++i)
      if (const auto& part = program->dlpi_phdr[i];
          part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
        offset = address - part.p_vaddr + part.p_offset;
    return 1;  // the program itself comes first
  };
  ::dl_iterate_phdr(look, &search);
  return search.offset;
}

// The first of a thread that has slept.
double seconds_of_first_call(Function function) {
  std::array<std::uint64_t, 9> rounds;
  for (std::uint64_t& round : rounds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    function();
    round = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
  }
  std::ranges::nth_element(rounds, rounds.begin() + rounds.size() / 2);
  return static_cast<double>(rounds[rounds.size() / 2]) * 1e-9;
}

// The least of many short rounds: some are over before anything disturbs them, on any host.
double seconds_of_call(Function function) {
  constexpr int kRounds = 64, kCalls = 64;
  std::uint64_t least = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kCalls; ++i) function();
    least = std::min(least, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
  }
  return static_cast<double>(least) * 1e-9 / kCalls;
}

constexpr const char* kNoSegment = "find the exporter's own code in its file: no such segment";

Result<double> seconds_of_hit(Function function, double (*seconds)(Function) = seconds_of_call,
                              std::size_t count = 1) {
  const auto offset = offset_in_own_file(function);
  if (!offset) return error_in_words(kNoSegment);
  const double without = seconds(function);
  std::vector<UniqueFd> probes;
  while (probes.size() < count) {
    auto probe = attach_empty_uprobe({"/proc/self/exe", *offset, ::getpid()});
    if (!probe) return probe.error();
    probes.push_back(std::move(*probe));
  }
  const double with = seconds(function);
  take_off_together(std::move(probes));
  if (with > without) return with - without;
  return error_in_words("measure the cost of a probe: a call with it takes no longer");
}

Result<HitCost> measure() {
  const auto emulated = seconds_of_hit(ioc_exporter_emulated);
  if (!emulated) return emulated.error();
  const auto stepped = seconds_of_hit(ioc_exporter_stepped);
  if (!stepped) return stepped.error();
  // Of few rounds: on a busy host it may drown in noise, which must not spoil the other two.
  const auto first = seconds_of_hit(ioc_exporter_emulated, seconds_of_first_call);
  HitCost cost{*emulated, std::max(*emulated, *stepped),
               first ? std::max(0.0, *first - *emulated) : 0.0};
  constexpr std::size_t kBeside = 4;
  if (const auto all = seconds_of_hit(ioc_exporter_emulated, seconds_of_call, 1 + kBeside))
    cost.beside = std::max(0.0, *all - *emulated) / kBeside;
#if defined(__x86_64__)
  const auto nop = seconds_of_hit(ioc_exporter_long_nop);
  cost.emulates_long_nops = nop && *nop < (cost.emulated + cost.stepped) / 2;
#endif
  return cost;
}

}  // namespace

const Result<HitCost>& measured_hit_cost() {
  static const Result<HitCost> cost = measure();
  return cost;
}

Result<void> try_uprobe_link() {
  if (!uprobe_link_type()) return error_in_words("attach uprobes by links: this kernel has none");
  const auto offset = offset_in_own_file(ioc_exporter_emulated);
  if (!offset) return error_in_words(kNoSegment);
  const auto probe = attach_empty_uprobe({"/proc/self/exe", *offset, ::getpid()});
  return probe ? Result<void>() : probe.error();
}

HitCost hit_cost() {
  const auto& measured = measured_hit_cost();
  return measured ? *measured : HitCost{};
}

}  // namespace ioc_exporter::kernel
