#include "base/byte_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace ioc_exporter {

ByteBuffer::~ByteBuffer() {
  std::free(data_);
}

void ByteBuffer::grow(std::size_t bytes) {
  constexpr std::size_t kLeast = 4096;
  const std::size_t wanted = std::max({kLeast, size_ + bytes, capacity_ * 2});
  auto* larger = static_cast<char*>(std::realloc(data_, wanted));
  if (larger == nullptr) throw std::bad_alloc();
  data_ = larger;
  capacity_ = wanted;
  prefer_huge_pages(data_, capacity_);
}

void ByteBuffer::insert(std::size_t position, std::string_view bytes) {
  reserve(bytes.size());
  std::memmove(data_ + position + bytes.size(), data_ + position, size_ - position);
  std::memcpy(data_ + position, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void ByteBuffer::shrink_to_fit() {
  if (size_ == 0 || size_ == capacity_) return;
  auto* smaller = static_cast<char*>(std::realloc(data_, size_));
  if (smaller == nullptr) return;
  data_ = smaller;
  capacity_ = size_;
}

void prefer_huge_pages(void* block, std::size_t bytes) {
  constexpr std::size_t kWorthIt = std::size_t{4} << 20;  // two of them on most machines
  if (bytes < kWorthIt) return;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // All of the mapping, with the header of malloc(3) before the block: realloc(3) cannot enlarge in
  // place what has become two mappings.
  const auto begin = reinterpret_cast<std::uintptr_t>(block) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + bytes + page - 1) & ~(page - 1);
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

}  // namespace ioc_exporter
