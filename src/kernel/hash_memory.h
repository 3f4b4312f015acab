// Kernel memory of a BPF hash, by its shape: fdinfo is right from Linux 6.4 on only, and leaves out
// the allocator's reserve. Pure.
#pragma once

#include <cstdint>

namespace ioc_exporter::kernel {

struct HashShape {
  std::uint32_t key_size = 0;
  std::uint32_t value_size = 0;
  std::uint32_t max_entries = 0;
  bool on_demand = false;  // BPF_F_NO_PREALLOC: an entry takes memory when it is added
};

struct Cpus {
  std::uint32_t possible = 1;
  std::uint32_t online = 1;

  static Cpus of_host();
};

// With so many entries, and at most so much. A map that is not on demand takes the same always.
std::uint64_t hash_bytes(const HashShape& shape, std::uint64_t entries, const Cpus& cpus);

// How many entries a map on demand may have in so many bytes; at most its max_entries.
std::uint32_t hash_entries_within(const HashShape& shape, std::uint64_t bytes, const Cpus& cpus);

// The largest map, of at most `shape.max_entries`, that is of use within so many bytes: all its
// entries are within them or, on demand, a quarter of them. 0: there is none.
std::uint32_t hash_capacity_within(HashShape shape, std::uint64_t bytes, const Cpus& cpus);

}  // namespace ioc_exporter::kernel
