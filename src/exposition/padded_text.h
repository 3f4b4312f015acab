// Texts that are written again and again, in steps of so many bytes at once: no call and no choice
// by length, as memcpy(3) has for the same few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "exposition/number_text.h"

namespace ioc_exporter::exposition {

class PaddedText {
 public:
  static constexpr std::size_t kStep = 32;

  void set(std::string_view text, std::string_view more = {}, std::string_view end = {}) {
    bytes_.assign(text).append(more).append(end);
    size_ = bytes_.size();
    bytes_.resize(size_ + kStep);
  }
  std::size_t size() const { return size_; }

  // Returns the end. There is room for kStep more.
  char* write(char* to) const {
    for (std::size_t done = 0; done < size_; done += kStep)
      std::memcpy(to + done, bytes_.data() + done, kStep);
    return to + size_;
  }

 private:
  std::string bytes_;
  std::size_t size_ = 0;
};

// A number that is often the same as the one before.
class PaddedNumber {
 public:
  explicit PaddedNumber(std::uint64_t value) { set(value); }

  // Returns the end. There is room for kNumberRoom.
  char* write(char* to, std::uint64_t value) {
    if (value != value_) set(value);
    std::memcpy(to, text_, sizeof text_);
    return to + size_;
  }

 private:
  void set(std::uint64_t value) {
    value_ = value;
    size_ = static_cast<std::size_t>(write_number(text_, value) - text_);
  }

  std::uint64_t value_ = 0;
  std::size_t size_ = 0;
  char text_[kNumberRoom] = {};
};

}  // namespace ioc_exporter::exposition
