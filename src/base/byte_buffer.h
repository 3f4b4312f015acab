// ByteBuffer: bytes that are written one after the other, up to hundreds of megabytes of them.
//
// It grows in place where the system can (realloc(3) of large blocks moves pages, not bytes), and
// room that is not written to takes no memory: so it is made large at once, and never copied.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace ioc_exporter {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    ByteBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~ByteBuffer();

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_, size_}; }

  // Room for `bytes` more. Throws std::bad_alloc.
  void reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
  }
  // The same, and where it begins: write there, then set_end().
  char* room(std::size_t bytes) {
    reserve(bytes);
    return data_ + size_;
  }
  void set_end(const char* end) { size_ = static_cast<std::size_t>(end - data_); }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void push_back(char byte) {
    *room(1) = byte;
    ++size_;
  }
  // At `position`, before what stands there.
  void insert(std::size_t position, std::string_view bytes);
  // Gives back what is not used, which matters where not all of the room was ever written to.
  void shrink_to_fit();

  void swap(ByteBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void grow(std::size_t bytes);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Wishes huge pages for a block of malloc(3), which should not be written to yet. Smaller blocks
// than are worth it, and kernels that have none, are left as they are.
void prefer_huge_pages(void* block, std::size_t bytes);

}  // namespace ioc_exporter
