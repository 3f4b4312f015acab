#include "iocs/memory/suspended_threads.h"

#include <algorithm>
#include <optional>
#include <set>

#include "iocs/memory/cached_memory.h"
#include "iocs/memory/database_walk.h"
#include "iocs/memory/scan_layout.h"
#include "iocs/memory/variables.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::int32_t kMostThreads = 20'000;
constexpr std::size_t kLongestName = 128;
constexpr int kThreadAttempts = 5;  // threads come and go while the list is read

// A layout of struct epicsThreadOSD: bytes from its start.
struct ThreadLayout {
  std::size_t state;     // layout::ThreadState
  std::size_t priority;  // unsigned, 0 to 99
  std::size_t joinable;  // a flag, 0: there is none
  std::size_t name;
  bool name_is_pointer;
};
constexpr std::size_t k3_14 = layout::kThreadState3_14;
constexpr std::size_t k3_15 = layout::kThreadState3_15;
constexpr std::size_t k7_0 = layout::kThreadState7_0_3_1;
constexpr ThreadLayout kLayouts[] = {
    // 7.0.10: isRunning, isOkToBlock, osiPriority, joinable, char name[]
    {k7_0, k7_0 + 24, k7_0 + 28, k7_0 + 32, false},
    // 7.0.8: isRunning, osiPriority, joinable, name[]
    {k7_0, k7_0 + 20, k7_0 + 24, k7_0 + 28, false},
    // 7.0.3.1 to 7.0.7: osiPriority, joinable, name[]
    {k7_0, k7_0 + 16, k7_0 + 20, k7_0 + 24, false},
    // 3.15 to 7.0.3: osiPriority, name[]
    {k3_15, k3_15 + 16, 0, k3_15 + 20, false},
    // 3.14: osiPriority, char *name
    {k3_14, k3_14 + 16, 0, k3_14 + 24, true},
};

struct ThreadFacts {
  std::string name;
  bool suspended = false;
};

bool is_flag(std::int32_t value) {
  return value == 0 || value == 1;
}

// Nothing when a thread at `address` does not look like that. isOnThreadList is 1 for all that are
// on the list.
std::optional<ThreadFacts> read_thread(Memory& memory, std::uint64_t address,
                                       const ThreadLayout& layout) {
  constexpr std::uint32_t kHighestPriority = 99;  // epicsThreadPriorityMax
  const auto state = memory.value<layout::ThreadState>(address + layout.state);
  const auto priority = memory.value<std::uint32_t>(address + layout.priority);
  if (!state || !priority || *priority > kHighestPriority) return {};
  if (!is_flag(state->is_suspended) || !is_flag(state->is_epics_thread) ||
      !is_flag(state->is_real_time) || state->is_on_thread_list != 1)
    return {};
  if (layout.joinable != 0) {
    const auto joinable = memory.value<std::int32_t>(address + layout.joinable);
    if (!joinable || !is_flag(*joinable)) return {};
  }
  std::uint64_t name_at = address + layout.name;
  if (layout.name_is_pointer) {
    const auto pointer = memory.value<std::uint64_t>(name_at);
    if (!pointer) return {};
    name_at = *pointer;
  }
  auto name = read_name(memory, name_at, kLongestName, "name of a thread");
  if (!name) return {};
  return ThreadFacts{std::move(*name), state->is_suspended == 1};
}

Result<std::vector<ThreadFacts>> read_threads(Memory& memory,
                                              const std::vector<std::uint64_t>& at) {
  for (const ThreadLayout& layout : kLayouts) {
    std::vector<ThreadFacts> threads;
    for (const std::uint64_t address : at) {
      auto thread = read_thread(memory, address, layout);
      if (!thread) break;
      threads.push_back(std::move(*thread));
    }
    if (threads.size() == at.size()) return threads;
  }
  return error_in_words("list of threads: they are laid out in no way that is known");
}

Result<std::vector<ThreadFacts>> read_list(Memory& memory, std::uint64_t variable) {
  CachedMemory cache(memory);
  const auto list = cache.value<layout::EllList>(variable);
  if (!list) return list.error();
  std::vector<std::uint64_t> nodes;
  auto walked = walk_list(cache, *list, kMostThreads, "list of threads",
                          [&nodes](std::uint64_t address) -> Result<void> {
                            nodes.push_back(address);
                            return {};
                          });
  if (!walked) return walked.error();
  return read_threads(cache, nodes);
}

}  // namespace

Result<std::vector<std::string>> read_suspended_threads(Memory& memory,
                                                        const VariablePlaces& variables) {
  constexpr const char* kList = "pthreadList";
  if (auto any = place_of(variables, kList); !any) return std::move(any).error();
  std::vector<std::string> names;
  for (const VariablePlace& place : variables.at(kList)) {
    Result<std::vector<ThreadFacts>> threads = read_list(memory, place.address);
    for (int attempt = 1; attempt < kThreadAttempts && !threads; ++attempt)
      threads = read_list(memory, place.address);
    if (!threads) return std::move(threads).error();
    for (ThreadFacts& thread : *threads)
      if (thread.suspended) names.push_back(std::move(thread.name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace ioc_exporter::iocs
