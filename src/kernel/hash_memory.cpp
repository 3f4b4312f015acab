#include "kernel/hash_memory.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "kernel/map.h"

namespace ioc_exporter::kernel {
namespace {

constexpr std::uint64_t kBucket = 16;  // struct bucket of kernel/bpf/hashtab.c
constexpr std::uint64_t kEntry = 48;   // struct htab_elem, before its key
constexpr std::uint64_t kMap = 1024;   // struct bpf_htab and its parts
constexpr std::uint64_t kMapOfCpu = 32;
constexpr std::uint64_t kCacheOfCpu = 256;  // struct bpf_mem_cache of kernel/bpf/memalloc.c
constexpr std::uint64_t kNode = 8;          // its llist_node

std::uint64_t words(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// Size that kmalloc() allocates for so many bytes.
std::uint64_t slab_bytes(std::uint64_t bytes) {
  if (bytes > 64 && bytes <= 96) return 96;
  if (bytes > 128 && bytes <= 192) return 192;
  return std::bit_ceil(std::max<std::uint64_t>(bytes, 8));
}

std::uint64_t buckets_bytes(std::uint32_t max_entries) {
  return kBucket * std::bit_ceil(std::uint64_t{std::max(max_entries, 1u)});
}

std::uint64_t entry_bytes(const HashShape& shape) {
  const std::uint64_t entry = kEntry + words(shape.key_size) + words(shape.value_size);
  return shape.on_demand ? slab_bytes(entry + kNode) : entry;
}

// Entries that the allocator has ready on a CPU where one was added: bpf_mem_refill() fills up from
// the low mark by a batch (alloc_bulk() in memalloc.c).
std::uint64_t entries_at_hand(const HashShape& shape) {
  const std::uint64_t unit = kEntry + words(shape.key_size) + words(shape.value_size) + kNode;
  if (unit <= 256) return 32 + 48;
  const std::uint64_t low = std::max<std::uint64_t>(32 * 256 / unit, 1);
  const std::uint64_t high = std::max<std::uint64_t>(96 * 256 / unit, 3);
  return low + std::max<std::uint64_t>((high - low) / 4 * 3, 1);
}

// On demand: of the map without an entry. Each CPU has entries ready from the start.
std::uint64_t empty_bytes(const HashShape& shape, const Cpus& cpus) {
  const std::uint64_t unit = kEntry + words(shape.key_size) + words(shape.value_size) + kNode;
  return kMap + buckets_bytes(shape.max_entries) +
         cpus.possible * (kMapOfCpu + kCacheOfCpu + (unit <= 256 ? 4 : 1) * entry_bytes(shape));
}

}  // namespace

Cpus Cpus::of_host() {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return {static_cast<std::uint32_t>(std::max(possible_cpus(), 1)),
          static_cast<std::uint32_t>(std::max(online, 1L))};
}

std::uint64_t hash_bytes(const HashShape& shape, std::uint64_t entries, const Cpus& cpus) {
  const std::uint64_t entry = entry_bytes(shape);
  if (!shape.on_demand)
    return kMap + buckets_bytes(shape.max_entries) + cpus.possible * kMapOfCpu +
           (std::uint64_t{shape.max_entries} + cpus.possible) * entry;
  // Each first entry of a CPU has others put ready beside it.
  const std::uint64_t hands = std::min<std::uint64_t>(entries, cpus.online);
  return empty_bytes(shape, cpus) + (entries + hands * entries_at_hand(shape)) * entry;
}

std::uint32_t hash_entries_within(const HashShape& shape, std::uint64_t bytes, const Cpus& cpus) {
  const std::uint64_t empty = empty_bytes(shape, cpus), entry = entry_bytes(shape);
  const std::uint64_t units = bytes > empty ? (bytes - empty) / entry : 0;
  const std::uint64_t at_hand = entries_at_hand(shape);
  const std::uint64_t entries =
      units > cpus.online * (1 + at_hand) ? units - cpus.online * at_hand : units / (1 + at_hand);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, shape.max_entries));
}

std::uint32_t hash_capacity_within(HashShape shape, std::uint64_t bytes, const Cpus& cpus) {
  const auto fits = [&](std::uint32_t entries) {
    shape.max_entries = entries;
    return hash_bytes(shape, (entries + 3) / 4, cpus) <= bytes;
  };
  std::uint32_t low = 0, high = shape.max_entries;  // low fits, or is 0
  if (fits(high)) return high;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace ioc_exporter::kernel
