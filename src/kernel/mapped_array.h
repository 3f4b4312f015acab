// MappedArray: an array map's values, read in place. For maps with BPF_F_MMAPABLE (Linux 5.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace ioc_exporter::kernel {

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
  static Result<MappedArray> map(int fd, std::uint32_t entries, const std::string& name) {
    auto memory = MapMemory::map(fd, entries * sizeof(V), name);
    if (!memory) return std::move(memory).error();
    MappedArray array;
    array.memory_ = std::move(*memory);
    array.entries_ = entries;
    return array;
  }

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

}  // namespace ioc_exporter::kernel
