#include "putlog/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <string_view>

namespace ioc_exporter::putlog {
namespace {

using Bytes = std::span<const std::byte>;

enum Dbr : std::uint16_t {
  kString = 0,
  kShort = 1,
  kFloat = 2,
  kEnum = 3,
  kChar = 4,
  kLong = 5,
  kDouble = 6,
  kPutAckT = 35,
  kPutAckS = 36
};
constexpr std::size_t kStringSize = 40;

template <class T>
T swapped(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

template <class T>
T number_at(Bytes bytes, bool network_order) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return network_order && std::endian::native == std::endian::little ? swapped(value) : value;
}

std::string text_of(Bytes bytes) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, ::strnlen(begin, bytes.size())};
}

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

template <class T>
void add_numbers(Value& value, std::uint64_t count, Bytes bytes, bool network_order) {
  const auto whole = std::min<std::uint64_t>(count, bytes.size() / sizeof(T));
  value.elements.reserve(whole);
  for (std::size_t i = 0; i < whole; ++i)
    value.elements.push_back(element_of(number_at<T>(bytes.subspan(i * sizeof(T)), network_order)));
}

// The last one may have been sent without the zeros behind it.
void add_strings(Value& value, std::uint64_t count, Bytes bytes, std::size_t size) {
  for (std::uint64_t i = 0; i < count && i * size < bytes.size(); ++i)
    value.elements.emplace_back(
        text_of(bytes.subspan(i * size, std::min(size, bytes.size() - i * size))));
}

// DBF types, by their place among those of Base 3.15 and before: two more came behind DBF_ULONG.
enum class Dbf : std::uint8_t {
  string,
  character,
  uchar,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  choice,
  other
};

Dbf dbf_of(const iocx_putlog_event& event) {
  constexpr std::int16_t kSame = 6;       // types up to DBF_ULONG
  constexpr std::int16_t kAllTypes = 11;  // DBF_ENUM since Base 3.16
  const std::int16_t type = event.field_type;
  if (type < 0) return Dbf::other;
  if (type <= kSame) return static_cast<Dbf>(type);
  if (event.enum_type == 0) return Dbf::other;
  const int now = type + (kAllTypes - event.enum_type);
  if (now < kAllTypes) return static_cast<Dbf>(now);
  return now <= kAllTypes + 2 ? Dbf::choice : Dbf::other;  // and DBF_MENU, DBF_DEVICE
}

std::size_t size_of(Dbf type) {
  switch (type) {
    case Dbf::character:
    case Dbf::uchar:
      return 1;
    case Dbf::int16:
    case Dbf::uint16:
    case Dbf::choice:
      return 2;
    case Dbf::int32:
    case Dbf::uint32:
    case Dbf::float32:
      return 4;
    case Dbf::int64:
    case Dbf::uint64:
    case Dbf::float64:
      return 8;
    default:
      return 0;  // any
  }
}

void add_old(Value& value, Dbf type, std::uint64_t count, Bytes bytes) {
  switch (type) {
    case Dbf::character:  // Channel Access has no characters below 0
    case Dbf::uchar:
      return add_numbers<std::uint8_t>(value, count, bytes, false);
    case Dbf::int16:
      return add_numbers<std::int16_t>(value, count, bytes, false);
    case Dbf::uint16:
    case Dbf::choice:
      return add_numbers<std::uint16_t>(value, count, bytes, false);
    case Dbf::int32:
      return add_numbers<std::int32_t>(value, count, bytes, false);
    case Dbf::uint32:
      return add_numbers<std::uint32_t>(value, count, bytes, false);
    case Dbf::int64:
      return add_numbers<std::int64_t>(value, count, bytes, false);
    case Dbf::uint64:
      return add_numbers<std::uint64_t>(value, count, bytes, false);
    case Dbf::float32:
      return add_numbers<float>(value, count, bytes, false);
    case Dbf::float64:
      return add_numbers<double>(value, count, bytes, false);
    default:
      return;
  }
}

}  // namespace

std::string dbr_name(std::uint16_t type) {
  constexpr std::array<std::string_view, 7> kPlain = {"STRING", "SHORT", "FLOAT", "ENUM",
                                                      "CHAR",   "LONG",  "DOUBLE"};
  constexpr std::array<std::string_view, 5> kKinds = {"", "STS_", "TIME_", "GR_", "CTRL_"};
  std::string name = "DBR_";
  if (type == kPutAckT) return name + "PUT_ACKT";
  if (type == kPutAckS) return name + "PUT_ACKS";
  if (type < kPlain.size() * kKinds.size())
    return name.append(kKinds[type / kPlain.size()]).append(kPlain[type % kPlain.size()]);
  return name + std::to_string(type);
}

std::optional<Value> sent_value(std::uint16_t type, std::uint64_t count, Bytes bytes) {
  Value value;
  value.is_array = count != 1;
  switch (type) {
    case kString:
      add_strings(value, count, bytes, kStringSize);
      break;
    case kShort:
      add_numbers<std::int16_t>(value, count, bytes, true);
      break;
    case kFloat:
      add_numbers<float>(value, count, bytes, true);
      break;
    case kEnum:
    case kPutAckT:
    case kPutAckS:
      add_numbers<std::uint16_t>(value, count, bytes, true);
      break;
    case kChar:
      add_numbers<std::uint8_t>(value, count, bytes, true);
      break;
    case kLong:
      add_numbers<std::int32_t>(value, count, bytes, true);
      break;
    case kDouble:
      add_numbers<double>(value, count, bytes, true);
      break;
    default:
      return std::nullopt;
  }
  if (count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

std::optional<Value> old_value(const iocx_putlog_event& event, Bytes bytes) {
  if (event.field_size == 0 || event.old_bytes > bytes.size()) return std::nullopt;
  const Dbf type = dbf_of(event);
  if (type == Dbf::other || (size_of(type) != 0 && size_of(type) != event.field_size))
    return std::nullopt;
  Value value;
  value.is_array = (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0;
  if (type == Dbf::string) {
    add_strings(value, event.old_count, bytes.first(event.old_bytes), event.field_size);
  } else {
    add_old(value, type, event.old_count, bytes.first(event.old_bytes));
    if ((event.flags & IOCX_PUTLOG_HAS_CHOICE) != 0 &&
        bytes.size() >= IOCX_PUTLOG_CHOICE + IOCX_PUTLOG_CHOICE_SIZE) {
      std::string text = text_of(bytes.subspan(IOCX_PUTLOG_CHOICE, IOCX_PUTLOG_CHOICE_SIZE));
      if (!text.empty()) value.elements = {std::move(text)};
    }
  }
  if (event.old_count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

Value as_long_string(const Value& value) {
  std::string text;
  for (const Element& element : value.elements) {
    const auto* const character = std::get_if<std::int64_t>(&element);
    if (character == nullptr) return value;
    if (*character == 0) break;
    text.push_back(static_cast<char>(*character));
  }
  return {{std::move(text)}, false};
}

}  // namespace ioc_exporter::putlog
