// Packer, Unpacker: values as bytes for another process of this program, and back.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace ioc_exporter {

// Values one after the other, as they lie in memory.
class Packer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  std::optional<T> take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (bytes_.size() < sizeof value) return {};
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::optional<std::string> text() {
    const auto size = take<std::size_t>();
    if (!size || bytes_.size() < *size) return {};
    std::string text(bytes_.substr(0, *size));
    bytes_.remove_prefix(*size);
    return text;
  }
  std::string_view remainder() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace ioc_exporter
