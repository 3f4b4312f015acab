#include "kernel/mapped_array.h"

#include <sys/mman.h>

#include <cerrno>

namespace ioc_exporter::kernel {

Result<MapMemory> MapMemory::map(int fd, std::size_t size, const std::string& name, Access access) {
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return error_from_errno(errno, "map BPF map " + name + " into memory");
  MapMemory memory;
  memory.data_ = at;
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
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace ioc_exporter::kernel
