// Typed access to a BPF map by file descriptor. Errors of bpf(2) are translated here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::kernel {

// MappedArray: an array map's values, read in place. For maps with BPF_F_MMAPABLE (Linux 5.5).

// A mapping of `size` bytes of the map; ends with it.
class MapMemory {
 public:
  enum class Access { read, write };
  static Result<MapMemory> map(int fd, std::size_t size, const std::string& name,
                               Access access = Access::read);
  MapMemory() = default;
  MapMemory(MapMemory&& other) noexcept;
  MapMemory& operator=(MapMemory&& other) noexcept;
  ~MapMemory();

  // To be written to with Access::write only.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// Programs may write while it is read: each naturally aligned word is whole, a value is not.
template <class V>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<V> && sizeof(V) % 8 == 0);

 public:
  MappedArray() = default;
  MappedArray(MapMemory memory, std::uint32_t entries)
      : memory_(std::move(memory)), entries_(entries) {}

  std::uint32_t size() const { return entries_; }
  // The first `bytes` of a value, whole words; index < size().
  void read(std::uint32_t index, void* into, std::size_t bytes) const {
    const auto* words = reinterpret_cast<const volatile std::uint64_t*>(
        static_cast<const V*>(memory_.data()) + index);
    for (std::size_t i = 0; i < bytes / 8; ++i) {
      const std::uint64_t word = words[i];
      std::memcpy(static_cast<unsigned char*>(into) + i * 8, &word, 8);
    }
  }

 private:
  MapMemory memory_;
  std::uint32_t entries_ = 0;
};

enum class UpdateMode { any, only_new, only_existing };

namespace detail {
struct MapShape {
  std::string name;
  std::uint32_t key_size = 0;
  std::uint32_t value_size = 0;
  std::uint32_t max_entries = 0;
};
Result<MapShape> map_shape(int fd);
// ENOENT is an empty optional-like `false`, everything else an error.
Result<bool> map_lookup(int fd, const std::string& name, const void* key, void* value);
Result<void> map_update(int fd, const std::string& name, const void* key, const void* value,
                        UpdateMode mode);
Result<bool> map_erase(int fd, const std::string& name, const void* key);
// All entries, keys and values back to back, in batches where the map type has them (5.6), one by
// one where it has not. An entry that comes or goes meanwhile may be missing; none is there twice.
// After an error, some may have been given.
struct RawEntries {
  const unsigned char* keys = nullptr;
  const unsigned char* values = nullptr;  // the first is aligned for any type
  std::size_t count = 0;
};
Result<void> map_read_batches(int fd, const MapShape& shape, std::size_t value_stride,
                              const std::function<void(const RawEntries&)>& each);
Result<void> map_walk_keys(int fd, const MapShape& shape,
                           const std::function<void(const void*)>& each);
}  // namespace detail

// Number of possible CPUs: how many values a per-CPU map gives for one key.
int possible_cpus();

// A map with keys K and values V, not owned. V is the value of one CPU for per-CPU maps.
template <class K, class V>
class MapView {
  static_assert(std::is_trivially_copyable_v<K> && std::is_trivially_copyable_v<V>);

 public:
  using Key = K;
  using Value = V;

  MapView() = default;
  // Fails when the map's sizes are not those of K and V.
  static Result<MapView> from_fd(int fd) {
    auto shape = detail::map_shape(fd);
    if (!shape) return std::move(shape).error();
    if (shape->key_size != sizeof(K) || shape->value_size != sizeof(V))
      return error_in_words("open BPF map " + shape->name + ": key or value has another size");
    return MapView(fd, std::move(*shape));
  }

  int fd() const { return fd_; }
  const std::string& name() const { return shape_.name; }
  std::uint32_t capacity() const { return shape_.max_entries; }

  // The value, or nothing when there is no such key. Not for per-CPU maps.
  Result<std::optional<V>> lookup(const K& key) const {
    V value;
    auto found = detail::map_lookup(fd_, shape_.name, &key, &value);
    if (!found) return std::move(found).error();
    return *found ? std::optional<V>(value) : std::optional<V>();
  }
  // A per-CPU map's values for the key, one a possible CPU. 8-byte aligned values only.
  Result<std::vector<V>> lookup_cpus(const K& key) const {
    static_assert(sizeof(V) % 8 == 0, "the kernel pads per-CPU values to 8 bytes");
    std::vector<V> values(static_cast<std::size_t>(possible_cpus()));
    auto found = detail::map_lookup(fd_, shape_.name, &key, values.data());
    if (!found) return std::move(found).error();
    if (!*found) values.clear();
    return values;
  }
  Result<void> update(const K& key, const V& value, UpdateMode mode = UpdateMode::any) const {
    return detail::map_update(fd_, shape_.name, &key, &value, mode);
  }
  // Whether there was such a key.
  Result<bool> erase(const K& key) const { return detail::map_erase(fd_, shape_.name, &key); }

  // All keys, walked one by one: cheaper than for_each where values are large.
  Result<std::vector<K>> keys() const {
    std::vector<K> all;
    auto walked = detail::map_walk_keys(fd_, shape_, [&all](const void* key) {
      K copy;
      __builtin_memcpy(&copy, key, sizeof copy);
      all.push_back(copy);
    });
    if (!walked) return walked.error();
    return all;
  }

  // Calls each(key, value) for every entry. Not for per-CPU maps. The references are good
  // for the call only, which may change other maps but not this one.
  template <class Each>
  Result<void> for_each(Each&& each) const {
    return detail::map_read_batches(
        fd_, shape_, sizeof(V), [&each](const detail::RawEntries& entries) {
          for (std::size_t i = 0; i < entries.count; ++i) {
            K key;
            __builtin_memcpy(&key, entries.keys + i * sizeof(K), sizeof(K));
            each(static_cast<const K&>(key),
                 *reinterpret_cast<const V*>(entries.values + i * sizeof(V)));
          }
        });
  }

 private:
  MapView(int fd, detail::MapShape shape) : fd_(fd), shape_(std::move(shape)) {}

  int fd_ = -1;
  detail::MapShape shape_;
};

// A map that user space made itself.
template <class K, class V>
struct OwnedMap {
  UniqueFd fd;
  MapView<K, V> view;
};

// A hash in which the entries that were used the longest time ago make room. For objects to share;
// `name`: 15 characters at most.
Result<UniqueFd> make_lru_hash(const char* name, std::uint32_t key_size, std::uint32_t value_size,
                               std::uint32_t entries);

// An array of 64-bit numbers, all 0, that can be mapped into memory (MapMemory).
Result<UniqueFd> make_mapped_array(const char* name, std::uint32_t entries);

// Sums one per-CPU array of 64-bit counters, by index. Used for every drop counter.
Result<std::vector<std::uint64_t>> sum_per_cpu_counters(
    const MapView<std::uint32_t, std::uint64_t>& map, std::uint32_t counters);
// The pure part: values of all CPUs to one sum (tested with the only non-zero slot on the last
// CPU).
std::uint64_t sum_cpus(const std::vector<std::uint64_t>& values);

}  // namespace ioc_exporter::kernel
