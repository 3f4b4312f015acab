#include "putlog/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "putlog/database_types.h"

namespace ioc_exporter::putlog {
namespace {

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

// `by_pva`: Channel Access has no characters below 0.
void add_numbers_of(Value& value, Dbf type, std::uint64_t count, Bytes bytes, bool by_pva) {
  switch (type) {
    case Dbf::character:
      if (by_pva) return add_numbers<std::int8_t>(value, count, bytes, false);
      [[fallthrough]];
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

std::string text_of(Bytes bytes) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, ::strnlen(begin, bytes.size())};
}

Dbf dbf_of(const iocx_putlog_event& event, std::int16_t type) {
  constexpr std::int16_t kSame = 6;       // types up to DBF_ULONG
  constexpr std::int16_t kAllTypes = 11;  // DBF_ENUM since Base 3.16
  if (type < 0) return Dbf::other;
  if (type <= kSame) return static_cast<Dbf>(type);
  if (event.enum_type == 0) return Dbf::other;
  const int now = type + (kAllTypes - event.enum_type);
  if (now < kAllTypes) return static_cast<Dbf>(now);
  return now <= kAllTypes + 2 ? Dbf::choice : Dbf::other;  // and DBF_MENU, DBF_DEVICE
}

std::string choice_in(Bytes room) {
  if (room.size() < IOCX_PUTLOG_CHOICE + IOCX_PUTLOG_CHOICE_SIZE) return {};
  return text_of(room.subspan(IOCX_PUTLOG_CHOICE, IOCX_PUTLOG_CHOICE_SIZE));
}

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

std::optional<Value> sent_value(std::uint16_t type, std::uint64_t count, Bytes bytes,
                                bool network_order) {
  Value value;
  value.is_array = count != 1;
  if (type >= IOCX_DBR_TYPES) return std::nullopt;
  switch (iocx_dbr_plain(type)) {
    case kString:
      add_strings(value, count, bytes, kStringSize);
      break;
    case kShort:
      add_numbers<std::int16_t>(value, count, bytes, network_order);
      break;
    case kFloat:
      add_numbers<float>(value, count, bytes, network_order);
      break;
    case kEnum:
      add_numbers<std::uint16_t>(value, count, bytes, network_order);
      break;
    case kChar:
      add_numbers<std::uint8_t>(value, count, bytes, network_order);
      break;
    case kLong:
      add_numbers<std::int32_t>(value, count, bytes, network_order);
      break;
    case kDouble:
      add_numbers<double>(value, count, bytes, network_order);
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
  else if (to.value =
               sent_value(event.type, event.count, bytes, (event.flags & IOCX_PUTLOG_INSIDE) == 0);
           !to.value)
    to.value_unknown = "unreadable";
  to.overread = to.value && is_short;
}

std::optional<Value> old_value(const iocx_putlog_event& event, Bytes bytes) {
  if (event.field_size == 0 || event.old_bytes > bytes.size()) return std::nullopt;
  const Dbf type = dbf_of(event, event.field_type);
  if (type == Dbf::other || (size_of(type) != 0 && size_of(type) != event.field_size))
    return std::nullopt;
  Value value;
  value.is_array = (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0;
  if (type == Dbf::string) {
    add_strings(value, event.old_count, bytes.first(event.old_bytes), event.field_size);
  } else {
    add_numbers_of(value, type, event.old_count, bytes.first(event.old_bytes),
                   event.source == IOCX_PUTLOG_PVA);
    if ((event.flags & IOCX_PUTLOG_HAS_CHOICE) != 0)
      if (std::string text = choice_in(bytes); !text.empty()) value.elements = {std::move(text)};
  }
  if (event.old_count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

// What QSRV has the database write, as the database numbers types, in the IOC's byte order. One
// text may be a link's, of any length.
std::optional<PutField> written_field(const iocx_putlog_event& event, Bytes bytes) {
  constexpr std::array<std::string_view, 12> kNames = {"STRING", "CHAR",  "UCHAR",  "SHORT",
                                                       "USHORT", "LONG",  "ULONG",  "INT64",
                                                       "UINT64", "FLOAT", "DOUBLE", "ENUM"};
  const std::size_t name_at = std::size_t{2} * event.room;
  if (bytes.size() < name_at + IOCX_PUTLOG_FIELD || event.value_bytes > event.room)
    return std::nullopt;
  PutField field;
  field.field = text_of(bytes.subspan(name_at, IOCX_PUTLOG_FIELD));
  field.count = event.count;
  field.old = old_value(event, bytes.subspan(event.room));
  const Dbf type = dbf_of(event, static_cast<std::int16_t>(event.type));
  if (static_cast<std::size_t>(type) >= kNames.size()) return field;
  field.type = std::string("DBR_").append(kNames[static_cast<std::size_t>(type)]);
  Value value;
  value.is_array = event.count != 1 || (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0;
  const Bytes kept = bytes.first(event.value_bytes);
  if (type == Dbf::string)
    add_strings(value, event.count, kept, event.count == 1 ? kept.size() : kStringSize);
  else
    add_numbers_of(value, type, event.count, kept, true);
  if ((event.flags & IOCX_PUTLOG_SENT_CHOICE) != 0)
    if (std::string text = choice_in(bytes.first(event.room)); !text.empty())
      value.elements = {std::move(text)};
  if (event.count == 0 || !value.elements.empty()) field.value = std::move(value);
  return field;
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
