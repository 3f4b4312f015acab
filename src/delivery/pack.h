// Items as bytes, from one process of the exporter to another one of the same program.
//
// A struct has parts_of(Is<Struct> auto&), which ties its members. Bytes that are none of ours give
// an item with odd values, and no worse.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace ioc_exporter::delivery {

template <class Object, class Struct>
concept Is = std::is_same_v<std::remove_const_t<Object>, Struct>;

template <class T>
void pack(std::string& out, const T& value) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    pack(out, value.size());
    out += value;
  } else if constexpr (requires { value.has_value(); }) {
    pack(out, value.has_value());
    if (value) pack(out, *value);
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    pack(out, value.index());
    std::visit([&out](const auto& one) { pack(out, one); }, value);
  } else if constexpr (requires { value.begin(); }) {
    pack(out, value.size());
    for (const auto& one : value) pack(out, one);
  } else {
    std::apply([&out](const auto&... part) { (pack(out, part), ...); }, parts_of(value));
  }
}

// Takes what it reads off `bytes`.
template <class T>
void unpack(std::string_view& bytes, T& value) {
  const auto number = [&bytes] {
    std::size_t read = 0;
    unpack(bytes, read);
    return std::min(read, bytes.size());
  };
  if constexpr (std::is_trivially_copyable_v<T>) {
    const std::size_t size = std::min(sizeof value, bytes.size());
    std::memcpy(static_cast<void*>(&value), bytes.data(), size);
    bytes.remove_prefix(size);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = bytes.substr(0, number());
    bytes.remove_prefix(value.size());
  } else if constexpr (requires { value.has_value(); }) {
    char is_there = 0;
    unpack(bytes, is_there);
    if (is_there != 0) unpack(bytes, value.emplace());
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    const std::size_t index = number();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((index == I ? unpack(bytes, value.template emplace<I>()) : void()), ...);
    }
    (std::make_index_sequence<std::variant_size_v<T>>());
  } else if constexpr (requires { value.begin(); }) {
    value.resize(number());
    for (auto& one : value) unpack(bytes, one);
  } else {
    std::apply([&bytes](auto&... part) { (unpack(bytes, part), ...); }, parts_of(value));
  }
}

// Memory that a value holds beside itself, about.
template <class T>
std::size_t held_by(const T& value) {
  constexpr std::size_t kBlock = 32;  // overhead of the allocator and of the share's count
  if constexpr (std::is_trivially_copyable_v<T>) {
    return 0;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.capacity() > std::string().capacity() ? value.capacity() + kBlock : 0;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? held_by(*value) : 0;
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    return std::visit([](const auto& one) { return held_by(one); }, value);
  } else if constexpr (requires { value.begin(); }) {
    std::size_t bytes = value.capacity() * sizeof *value.begin() + kBlock;
    for (const auto& one : value) bytes += held_by(one);
    return bytes;
  } else {
    return std::apply([](const auto&... part) { return (held_by(part) + ...); }, parts_of(value));
  }
}
// Of an item on the heap: queues and rings are bounded by it.
template <class T>
std::size_t footprint(const T& item) {
  return sizeof item + 32 + held_by(item);
}

}  // namespace ioc_exporter::delivery
