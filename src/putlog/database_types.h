// Types of the database's fields, and elements of them. Pure. For value.cpp and conversion.cpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "putlog/event.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

using Bytes = std::span<const std::byte>;

// DBF_ENUM of Base 7, whose numbers Dbf has.
inline constexpr std::uint32_t kEnumType = 11;

// Bytes of one element; 0: its type is none of these.
inline std::uint32_t size_of(Dbf type) {
  return iocx_dbf_size(static_cast<std::uint32_t>(type), kEnumType);
}

// `type`: as the event's IOC numbers them.
Dbf dbf_of(const iocx_putlog_event& event, std::int16_t type);

// Up to its zero byte.
std::string text_of(Bytes bytes);

// Text of a choice that stands behind its number; "": it has none.
std::string choice_in(Bytes room);

// As it is reported: an array of characters is a text if it is printable up to its first 0. `size`:
// elements that the value has, also where they are not all here.
Value told_value(Value value, Dbf type, std::uint64_t size);

template <class T>
Element element_of(T number) {
  if constexpr (std::floating_point<T>)
    return static_cast<double>(number);
  else if constexpr (std::same_as<T, std::uint64_t>)
    return number > static_cast<std::uint64_t>(INT64_MAX)
               ? Element(number)
               : Element(static_cast<std::int64_t>(number));
  else
    return static_cast<std::int64_t>(number);
}

}  // namespace ioc_exporter::putlog
