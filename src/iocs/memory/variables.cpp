#include "iocs/memory/variables.h"

#include <algorithm>
#include <set>

#include "iocs/memory/base_layout.h"
#include "iocs/memory/database_walk.h"

namespace ioc_exporter::iocs {

Result<VariablePlace> place_of(const VariablePlaces& variables, const std::string& name) {
  const auto places = variables.find(name);
  if (places == variables.end() || places->second.empty())
    return error_in_words("no symbol " + name + " was found");
  return places->second.front();
}

namespace {

constexpr std::array<const char*, layout::kCallbackPriorities> kPriorities{"low", "medium", "high"};
constexpr const char* kOnce = "once";
constexpr std::int32_t kLargestRing = 1 << 28;

// Layout of a version's rings.
enum class Version { v3_14, v3_15, v7_0 };

// A ring of pointers, or of bytes in entries of some size.
struct RingKind {
  std::int32_t entry = 1;   // units that one element takes
  std::int32_t unused = 1;  // units that stay free
};
constexpr RingKind kPointers{};
constexpr RingKind kOnceEntries{sizeof(layout::OnceEntry), layout::kRingBytesSlop};

Result<layout::Ring> read_ring(Memory& memory, std::uint64_t address, Version version) {
  if (!is_pointer(address)) return error_in_words("a queue is at " + hex_address(address));
  if (version != Version::v3_14) return memory.value<layout::Ring>(address);
  const auto old = memory.value<layout::RingPointer3_14>(address);
  if (!old) return old.error();
  layout::Ring ring{};
  ring.next_push = old->next_push;
  ring.next_pop = old->next_pop;
  ring.size = old->size;
  return ring;
}

bool makes_sense(const layout::Ring& ring, const RingKind& kind) {
  return ring.size > kind.unused && ring.size <= kLargestRing &&
         (ring.size - kind.unused) % kind.entry == 0 && ring.next_push >= 0 &&
         ring.next_push < ring.size && ring.next_pop >= 0 && ring.next_pop < ring.size;
}

Result<QueueSample> to_sample(const layout::Ring& ring, const RingKind& kind, const char* name,
                              Version version) {
  QueueSample sample;
  sample.queue = name;
  // In 64 bits: nothing of it may make sense.
  const std::int64_t room = std::int64_t{ring.size} - kind.unused;
  std::int64_t used = std::int64_t{ring.next_push} - ring.next_pop;
  if (used < 0) used += ring.size;
  const bool marked = version == Version::v7_0;
  if (!makes_sense(ring, kind) || used > room ||
      (marked && (ring.high_water_mark < 0 || ring.high_water_mark > room)))
    return error_in_words("queue " + sample.queue + ": elements " + std::to_string(ring.next_pop) +
                          " to " + std::to_string(ring.next_push) + " of " +
                          std::to_string(ring.size));
  sample.capacity = static_cast<std::uint64_t>(room / kind.entry);
  sample.length = static_cast<std::uint64_t>(used / kind.entry);
  if (marked)
    sample.high_water_mark = static_cast<std::uint64_t>(ring.high_water_mark / kind.entry);
  return sample;
}

std::uint64_t counted(std::int32_t counter) {
  return static_cast<std::uint32_t>(counter);
}

class QueueReader {
 public:
  QueueReader(Memory& memory, const VariablePlaces& variables)
      : memory_(memory), variables_(variables) {}

  Result<std::vector<QueueSample>> run() {
    auto done = variables_.contains("callbackQ") ? read_old_callbacks() : read_callbacks();
    if (done && *done) done = read_once();
    if (!done) return std::move(done).error();
    if (!*done) queues_.clear();
    return std::move(queues_);
  }

 private:
  // The next three functions return false when iocInit has not made the queues yet.
  Result<bool> read_old_callbacks() {
    auto place = place_of(variables_, "callbackQ");
    if (!place) return std::move(place).error();
    version_ = Version::v3_14;
    const auto rings = memory_.value<std::array<std::uint64_t, kPriorities.size()>>(place->address);
    if (!rings) return rings.error();
    for (std::size_t i = 0; i < kPriorities.size(); ++i) {
      if ((*rings)[i] == 0) return false;
      if (auto added = add((*rings)[i], kPriorities[i]); !added) return added.error();
    }
    return true;
  }

  Result<bool> read_callbacks() {
    auto place = place_of(variables_, "callbackQueue");
    if (!place) return std::move(place).error();
    const std::uint64_t size = place->size / layout::kCallbackPriorities;
    version_ = size == layout::kCallbackQueue3_15 ? Version::v3_15 : Version::v7_0;
    const bool known = size == layout::kCallbackQueue3_15 || size == layout::kCallbackQueue7_0 ||
                       size == layout::kCallbackQueue7_0_8;
    if (!known || place->size % layout::kCallbackPriorities != 0)
      return error_in_words("callbackQueue has " + std::to_string(place->size) +
                            " bytes: no layout that is known");
    for (std::size_t i = 0; i < kPriorities.size(); ++i) {
      const auto queue = memory_.value<layout::CallbackQueue>(place->address + i * size);
      if (!queue) return queue.error();
      if (queue->ring == 0) return false;
      if (auto added = add(queue->ring, kPriorities[i]); !added) return added.error();
      if (version_ == Version::v7_0) queues_.back().overflows = counted(queue->overflows);
    }
    return true;
  }

  Result<bool> read_once() {
    auto place = place_of(variables_, "onceQ");
    if (!place) return std::move(place).error();
    const auto address = memory_.value<std::uint64_t>(place->address);
    if (!address) return address.error();
    if (*address == 0) return false;
    auto ring = read_ring(memory_, *address, version_);
    if (!ring) return std::move(ring).error();
    auto kind = kind_of_once(ring->size);
    if (!kind) return std::move(kind).error();
    auto sample = to_sample(*ring, *kind, kOnce, version_);
    if (!sample) return std::move(sample).error();
    queues_.push_back(std::move(*sample));
    if (version_ != Version::v7_0) return true;
    auto overruns = place_of(variables_, "onceQOverruns");
    if (!overruns) return true;
    const auto count = memory_.value<std::int32_t>(overruns->address);
    if (!count) return count.error();
    queues_.back().overflows = counted(*count);
    return true;
  }

  // Records or entries? 3.16.1 has the callback queues of 3.15, and entries as 7.0. There the
  // ring's size says it: it was made for onceQueueSize of them.
  Result<RingKind> kind_of_once(std::int32_t size) {
    if (version_ == Version::v7_0) return kOnceEntries;
    if (version_ == Version::v3_14) return kPointers;
    auto place = place_of(variables_, "onceQueueSize");
    if (!place) return std::move(place).error();
    const auto elements = memory_.value<std::int32_t>(place->address);
    if (!elements) return elements.error();
    for (const RingKind& kind : {kPointers, kOnceEntries})
      if (size > kind.unused && std::int64_t{*elements} * kind.entry == size - kind.unused)
        return kind;
    return error_in_words("queue once: " + std::to_string(size) + " units for " +
                          std::to_string(*elements) + " elements");
  }

  Result<void> add(std::uint64_t address, const char* name) {
    auto ring = read_ring(memory_, address, version_);
    if (!ring) return std::move(ring).error();
    auto sample = to_sample(*ring, kPointers, name, version_);
    if (!sample) return std::move(sample).error();
    queues_.push_back(std::move(*sample));
    return {};
  }

  Memory& memory_;
  const VariablePlaces& variables_;
  Version version_ = Version::v7_0;
  std::vector<QueueSample> queues_;
};

}  // namespace

Result<std::vector<QueueSample>> read_callback_queues(Memory& memory,
                                                      const VariablePlaces& variables) {
  return QueueReader(memory, variables).run();
}

namespace {

constexpr std::int32_t kMostListed = 20'000;
constexpr std::size_t kLongestThreadName = 128;
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
  auto name = read_name(memory, name_at, kLongestThreadName, "name of a thread");
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
  auto walked = walk_list(cache, *list, kMostListed, "list of threads",
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
