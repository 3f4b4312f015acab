#include "base/byte_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/huge_pages.h"

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

}  // namespace ioc_exporter
