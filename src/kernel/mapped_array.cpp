#include "kernel/mapped_array.h"

#include <sys/mman.h>

#include <cerrno>

namespace ioc_exporter::kernel {

Result<MapMemory> MapMemory::map(int fd, std::size_t size, const std::string& name) {
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return error_from_errno(errno, "map BPF map " + name + " into memory");
  MapMemory memory;
  memory.data_ = static_cast<const unsigned char*>(at);
  memory.size_ = size;
  return memory;
}

MapMemory::MapMemory(MapMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MapMemory& MapMemory::operator=(MapMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MapMemory::~MapMemory() {
  if (data_ != nullptr)
    ::munmap(const_cast<unsigned char*>(data_), size_);  // NOLINT: munmap() takes no const
}

}  // namespace ioc_exporter::kernel
