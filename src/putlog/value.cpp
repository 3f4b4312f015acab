#include "putlog/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
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
  kPutAckT = IOCX_DBR_PUT_ACKT,
  kPutAckS = 36
};
static_assert(kPutAckS + 1 == IOCX_DBR_TYPES);
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

// Text of a choice that stands behind its number; "": it has none.
std::string choice_in(Bytes room) {
  if (room.size() < IOCX_PUTLOG_CHOICE + IOCX_PUTLOG_CHOICE_SIZE) return {};
  return text_of(room.subspan(IOCX_PUTLOG_CHOICE, IOCX_PUTLOG_CHOICE_SIZE));
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// Nothing: compilers, or Bases, differ.
template <class T>
std::optional<Element> number_as(double number) {
  if constexpr (std::same_as<T, double>) return Element(number);
  using Limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) {
    if (std::isfinite(number) && std::abs(number) > Limits::max()) return std::nullopt;
  } else {
    const double whole = std::trunc(number), end = std::ldexp(1.0, Limits::digits);
    if (!(whole >= static_cast<double>(Limits::lowest()) && whole < end)) return std::nullopt;
  }
  return element_of(static_cast<T>(number));
}

// In a whole number Bases take "010" and "1e3" in different ways.
template <class T>
std::optional<Element> text_as(const std::string& text) {
  if constexpr (!std::floating_point<T>) {
    const auto whole = number_in<T>(text);
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    if (text.size() > first + 1 && text[first] == '0' && text[first + 1] != '.')
      return std::nullopt;
    if (whole) return element_of(*whole);
    if (text.find_first_of("eE") != std::string::npos) return std::nullopt;
  }
  const auto number = number_in<double>(text);
  return number ? number_as<T>(*number) : std::nullopt;
}

template <class T>
std::optional<Element> as(const Element& sent) {
  if (const auto* text = std::get_if<std::string>(&sent)) return text_as<T>(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&sent))
    return element_of(static_cast<T>(*whole));
  const auto* number = std::get_if<double>(&sent);
  return number != nullptr ? number_as<T>(*number) : std::nullopt;
}

std::optional<Element> as_text(const Element& sent, std::size_t size) {
  if (const auto* text = std::get_if<std::string>(&sent)) return text->substr(0, size - 1);
  const auto* whole = std::get_if<std::int64_t>(&sent);
  return whole != nullptr ? std::optional<Element>(std::to_string(*whole)) : std::nullopt;
}

std::optional<Element> converted(const Element& sent, Dbf type, std::size_t size) {
  const bool is_text = std::holds_alternative<std::string>(sent);
  switch (type) {
    case Dbf::string:
      return as_text(sent, size);
    case Dbf::choice:  // a text is a state's, or its number
      return is_text ? sent : as<std::uint16_t>(sent);
    case Dbf::character:
    case Dbf::uchar:
      return is_text ? sent : as<std::uint8_t>(sent);
    case Dbf::int16:
      return as<std::int16_t>(sent);
    case Dbf::uint16:
      return as<std::uint16_t>(sent);
    case Dbf::int32:
      return as<std::int32_t>(sent);
    case Dbf::uint32:
      return as<std::uint32_t>(sent);
    case Dbf::int64:
      return as<std::int64_t>(sent);
    case Dbf::uint64:
      return as<std::uint64_t>(sent);
    case Dbf::float32:
      return as<float>(sent);
    case Dbf::float64:
      return as<double>(sent);
    default:
      return std::nullopt;
  }
}

std::optional<double> as_double(const Element& element) {
  if (const auto* whole = std::get_if<std::int64_t>(&element)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&element);
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

// 4 and 4.0 are, and NaN and NaN.
bool are_same(const Element& one, const Element& other) {
  const auto first = as_double(one), second = as_double(other);
  if (!first || !second) return one == other;
  return *first == *second || (std::isnan(*first) && std::isnan(*second));
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
  if (type >= IOCX_DBR_TYPES) return std::nullopt;
  switch (iocx_dbr_plain(type)) {
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
  }
  if (count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

// Whether the value goes on behind the message. A text is read as far as its end. `bytes`: of the
// elements that are kept.
bool is_longer_than_sent(const iocx_putlog_event& event, Bytes bytes) {
  if (event.count == 0) return false;
  const std::uint64_t size = iocx_dbr_value_size(event.type);
  const std::uint64_t last = (event.count - 1) * size;
  std::uint64_t length = size;
  if (iocx_dbr_plain(event.type) == kString)
    length = std::min<std::uint64_t>(
        size, text_of(bytes.subspan(std::min<std::size_t>(last, bytes.size()))).size() + 1);
  return iocx_dbr_value_at(event.type) + last + length > event.sent_bytes;
}

void read_value(PutEvent& to, const iocx_putlog_event& event, Bytes bytes) {
  if (event.type == IOCX_PUTLOG_NO_TYPE) {
    to.value_unknown = "in_pieces";
    return;
  }
  to.type = dbr_name(event.type);
  to.count = event.count;
  const bool by_packets = event.source == IOCX_PUTLOG_CA_TAP;
  if (by_packets)
    bytes = bytes.subspan(std::min<std::size_t>(iocx_dbr_value_at(event.type), bytes.size()));
  const bool is_short = is_longer_than_sent(event, bytes);
  if (event.type >= IOCX_DBR_TYPES)
    to.value_unknown = "type";
  else if (by_packets && is_short)
    to.value_unknown = "message_too_short";
  else if (to.value = sent_value(event.type, event.count, bytes); !to.value)
    to.value_unknown = "unreadable";
  to.overread = to.value && is_short;
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
    if ((event.flags & IOCX_PUTLOG_HAS_CHOICE) != 0)
      if (std::string text = choice_in(bytes); !text.empty()) value.elements = {std::move(text)};
  }
  if (event.old_count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

void convert_value(PutEvent& to, const iocx_putlog_event& event, Bytes bytes) {
  if (!to.value || event.field_size == 0 || event.type >= IOCX_DBR_PUT_ACKT) return;
  Value value;
  value.is_array = to.value->is_array || (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0;
  if ((event.flags & IOCX_PUTLOG_SENT_CHOICE) != 0)
    if (std::string text = choice_in(bytes.first(event.room)); !text.empty())
      value.elements = {std::move(text)};
  if (value.elements.empty())
    for (const Element& sent : to.value->elements) {
      auto element = converted(sent, dbf_of(event), event.field_size);
      if (!element) return;
      value.elements.push_back(std::move(*element));
    }
  std::swap(*to.value, value);
  if (!std::ranges::equal(value.elements, to.value->elements, are_same)) to.sent = std::move(value);
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
