#include "iocs/memory/callback_queues.h"

#include <array>

#include "iocs/memory/scan_layout.h"
#include "iocs/memory/variables.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::array<const char*, layout::kCallbackPriorities> kNames{"low", "medium", "high"};
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
    const auto rings = memory_.value<std::array<std::uint64_t, kNames.size()>>(place->address);
    if (!rings) return rings.error();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if ((*rings)[i] == 0) return false;
      if (auto added = add((*rings)[i], kNames[i]); !added) return added.error();
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
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const auto queue = memory_.value<layout::CallbackQueue>(place->address + i * size);
      if (!queue) return queue.error();
      if (queue->ring == 0) return false;
      if (auto added = add(queue->ring, kNames[i]); !added) return added.error();
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
  // ring's size tells: it was made for onceQueueSize of them.
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

}  // namespace ioc_exporter::iocs
