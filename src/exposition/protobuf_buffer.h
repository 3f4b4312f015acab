// Lets protozero write into a ByteBuffer.
#pragma once

#include <cstring>
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_tmpl.hpp>

#include "base/byte_buffer.h"

namespace protozero {

template <>
struct buffer_customization<ioc_exporter::ByteBuffer> {
  using Buffer = ioc_exporter::ByteBuffer;

  static std::size_t size(const Buffer* buffer) noexcept { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) {
    buffer->append({data, count});
  }
  static void append_zeros(Buffer* buffer, std::size_t count) {
    char* at = buffer->room(count);
    std::memset(at, 0, count);
    buffer->set_end(at + count);
  }
  static void resize(Buffer* buffer, std::size_t size) { buffer->set_end(buffer->data() + size); }
  static void reserve_additional(Buffer* buffer, std::size_t size) { buffer->reserve(size); }
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) {
    char* end = buffer->room(0);
    char* begin = end - buffer->size();
    std::memmove(begin + from, begin + to, buffer->size() - to);
    buffer->set_end(end - (to - from));
  }
  static char* at_pos(Buffer* buffer, std::size_t position) {
    return buffer->room(0) - buffer->size() + position;
  }
  static void push_back(Buffer* buffer, char byte) { buffer->push_back(byte); }
};

}  // namespace protozero

namespace ioc_exporter::exposition {

using ProtobufWriter = protozero::basic_pbf_writer<ByteBuffer>;

}  // namespace ioc_exporter::exposition
