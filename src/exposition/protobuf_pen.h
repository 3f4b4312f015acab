// ProtobufPen: writes fields one after the other to where there is room for them, for messages
// whose length is known before: protozero's writers leave room for it and move what they wrote.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <protozero/varint.hpp>
#include <string_view>

namespace ioc_exporter::exposition {

inline std::size_t varint_size(std::uint64_t value) {
  return static_cast<std::size_t>(protozero::length_of_varint(value));
}

class ProtobufPen {
 public:
  enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2 };
  static constexpr std::size_t kTag = 1;  // bytes; of the fields up to 15, and there are no others
  static constexpr std::size_t kDouble = kTag + 8;
  static constexpr std::size_t kMostVarint = 10;

  explicit ProtobufPen(char* at) : at_(at) {}
  char* end() const { return at_; }

  void varint(std::uint64_t value) { at_ += protozero::write_varint(at_, value); }
  void bytes(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void field_varint(int field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  void field_double(int field, double value) {
    tag(field, kFixed64);
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) *at_++ = static_cast<char>(bits);
  }
  // The field's bytes are to follow.
  void field_length(int field, std::size_t length) {
    tag(field, kLength);
    varint(length);
  }

 private:
  void tag(int field, WireType type) { *at_++ = static_cast<char>(field << 3 | type); }

  char* at_;
};

// Size of a field of so many bytes, with its tag and length.
inline std::size_t length_field_size(std::size_t bytes) {
  return ProtobufPen::kTag + varint_size(bytes) + bytes;
}

}  // namespace ioc_exporter::exposition
