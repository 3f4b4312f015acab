#include "putlog/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "iocs/memory/record_names.h"
#include "putlog/database_types.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kStringSize = 40;

// Of a plain DBR type.
constexpr std::array<Dbf, 7> kPlainTypes = {Dbf::string, Dbf::int16, Dbf::float32, Dbf::choice,
                                            Dbf::uchar,  Dbf::int32, Dbf::float64};

template <class T>
T swapped(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

// Elements as they lie in memory, or in a message.
struct Source {
  Bytes bytes;
  std::uint64_t count;
  std::size_t string_size = kStringSize;
  bool network_order = false;
  bool is_signed = false;  // Channel Access has no characters below 0
};

template <class T>
std::vector<Element> numbers_in(const Source& from) {
  const auto whole = std::min<std::uint64_t>(from.count, from.bytes.size() / sizeof(T));
  std::vector<Element> elements;
  elements.reserve(whole);
  for (std::size_t i = 0; i < whole; ++i) {
    T number;
    std::memcpy(&number, &from.bytes[i * sizeof number], sizeof number);
    const bool swaps = from.network_order && std::endian::native == std::endian::little;
    elements.push_back(element_of(swaps ? swapped(number) : number));
  }
  return elements;
}

// The last one may have been sent without the zeros behind it.
std::vector<Element> strings_in(const Source& from) {
  std::vector<Element> elements;
  for (Bytes rest = from.bytes; elements.size() < from.count && !rest.empty();) {
    const std::size_t size = std::min(from.string_size, rest.size());
    elements.emplace_back(text_of(rest.first(size)));
    rest = rest.subspan(size);
  }
  return elements;
}

std::vector<Element> elements_in(Dbf type, const Source& from) {
  switch (type) {
    case Dbf::string:
      return strings_in(from);
    case Dbf::character:
      if (from.is_signed) return numbers_in<std::int8_t>(from);
      [[fallthrough]];
    case Dbf::uchar:
      return numbers_in<std::uint8_t>(from);
    case Dbf::int16:
      return numbers_in<std::int16_t>(from);
    case Dbf::uint16:
    case Dbf::choice:
      return numbers_in<std::uint16_t>(from);
    case Dbf::int32:
      return numbers_in<std::int32_t>(from);
    case Dbf::uint32:
      return numbers_in<std::uint32_t>(from);
    case Dbf::int64:
      return numbers_in<std::int64_t>(from);
    case Dbf::uint64:
      return numbers_in<std::uint64_t>(from);
    case Dbf::float32:
      return numbers_in<float>(from);
    case Dbf::float64:
      return numbers_in<double>(from);
    default:
      return {};
  }
}

Value of_size(Value value, std::uint64_t size) {
  value.size = value.elements.size() == size ? 0 : size;
  return value;
}

// Of an array of characters. Nothing: it is none.
std::optional<std::string> characters_of(const Value& value) {
  std::string characters;
  for (const Element& element : value.elements) {
    const auto* const character = std::get_if<std::int64_t>(&element);
    if (character == nullptr) return std::nullopt;
    characters.push_back(static_cast<char>(*character));
  }
  return characters;
}

// Whether `text` begins with a character that has its place in a text; `is_first`: of it.
bool is_printable(std::string_view text, bool is_first) {
  if (!is_first && std::string_view("\t\r\n").find(text.front()) != std::string_view::npos)
    return true;
  return utf8_sequence(text) != 0 && !is_control(text);
}

// Whether it is a character whose end is missing.
bool is_begun(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  return text.size() < 4 && first >= 0xC2 && first <= 0xF4 &&
         std::ranges::all_of(text.substr(1), [](char byte) { return (byte & 0xC0) == 0x80; });
}

// What stands before the first 0, if it is printable. Of a cut one the last character may be cut.
std::optional<std::string> printable_text(std::string_view characters, bool is_cut) {
  const std::size_t end = std::min(characters.find('\0'), characters.size());
  const bool is_blank = characters.find_first_not_of('\0') == std::string_view::npos;
  if (end == 0 && (!is_blank || is_cut)) return std::nullopt;
  is_cut = is_cut && end == characters.size();
  for (std::size_t at = 0; at < end;) {
    const std::string_view rest = characters.substr(at, end - at);
    if (!is_printable(rest, at == 0)) {
      if (!is_cut || !is_begun(rest)) return std::nullopt;
      return std::string(characters.substr(0, at));
    }
    at += utf8_sequence(rest);
  }
  return std::string(characters.substr(0, end));
}

}  // namespace

std::string text_of(Bytes bytes) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, ::strnlen(begin, bytes.size())};
}

Dbf dbf_of(const iocx_putlog_event& event, std::int16_t type) {
  constexpr std::int16_t kSame = 6;  // types up to DBF_ULONG
  constexpr auto kAllTypes = static_cast<std::int16_t>(kEnumType);
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
  if (type == IOCX_DBR_PUT_ACKT) return name + "PUT_ACKT";
  if (type == IOCX_DBR_PUT_ACKS) return name + "PUT_ACKS";
  if (type < kPlain.size() * kKinds.size())
    return name.append(kKinds[type / kPlain.size()]).append(kPlain[type % kPlain.size()]);
  return name + std::to_string(type);
}

std::optional<Value> sent_value(std::uint16_t type, std::uint64_t count, Bytes bytes,
                                bool network_order) {
  if (type >= IOCX_DBR_TYPES) return std::nullopt;
  Value value{elements_in(kPlainTypes[iocx_dbr_plain(type)],
                          {.bytes = bytes, .count = count, .network_order = network_order}),
              count != 1};
  if (count > 0 && value.elements.empty()) return std::nullopt;
  return value;
}

Value told_value(Value value, Dbf type, std::uint64_t size) {
  const bool is_cut = size > value.elements.size();
  if (value.is_array && !value.elements.empty() && (type == Dbf::character || type == Dbf::uchar))
    if (const auto characters = characters_of(value))
      if (auto text = printable_text(*characters, is_cut)) value = {{std::move(*text)}, false};
  return of_size(std::move(value), size);
}

// Whether the value goes on behind the message. A text is read as far as its end. `bytes`: of the
// elements that are kept.
bool is_longer_than_sent(const iocx_putlog_event& event, Bytes bytes) {
  if (event.count == 0) return false;
  const std::uint64_t size = iocx_dbr_value_size(event.type);
  const std::uint64_t last = (event.count - 1) * size;
  std::uint64_t length = size;
  if (iocx_dbr_plain(event.type) == IOCX_DBR_STRING)
    length = std::min<std::uint64_t>(
        size, text_of(bytes.subspan(std::min<std::size_t>(last, bytes.size()))).size() + 1);
  return iocx_dbr_value_at(event.type) + last + length > event.sent_bytes;
}

bool is_acknowledgement(const iocx_putlog_event& event) {
  return event.source != IOCX_PUTLOG_PVA && iocx_dbr_acknowledges(event.type) != 0;
}

void read_values(PutEvent& to, const iocx_putlog_event& event, Bytes bytes) {
  if (event.type == IOCX_PUTLOG_NO_TYPE) {
    to.value_unknown = "in_pieces";
    return;
  }
  to.type = dbr_name(event.type);
  to.count = event.count;
  const bool by_packets = event.source == IOCX_PUTLOG_CA_TAP;
  Bytes kept = bytes.first(event.value_bytes);
  if (by_packets)
    kept = kept.subspan(std::min<std::size_t>(iocx_dbr_value_at(event.type), kept.size()));
  const bool is_short = is_longer_than_sent(event, kept);
  if (event.type >= IOCX_DBR_TYPES) {
    to.value_unknown = "type";
  } else if (by_packets && is_short) {
    to.value_unknown = "message_too_short";
  } else if (auto sent = sent_value(event.type, event.count, kept,
                                    (event.flags & IOCX_PUTLOG_INSIDE) == 0)) {
    Taken taken = taken_of(std::move(*sent), kPlainTypes[iocx_dbr_plain(event.type)], event, bytes);
    to.value = std::move(taken.value);
    to.sent = std::move(taken.sent);
    to.kind = taken.kind;
  } else {
    to.value_unknown = "unreadable";
  }
  to.overread = to.value && is_short;
  if (is_acknowledgement(event))
    to.op = kAcknowledge;
  else
    to.old = old_value(event, bytes.subspan(event.room));
}

std::optional<Value> old_value(const iocx_putlog_event& event, Bytes bytes) {
  if (event.field_size == 0 || event.old_bytes > bytes.size()) return std::nullopt;
  const Dbf type = dbf_of(event, event.field_type);
  const std::uint32_t size = size_of(type);
  if (type == Dbf::other || (type != Dbf::string && size != event.field_size)) return std::nullopt;
  Value value{elements_in(type, {.bytes = bytes.first(event.old_bytes),
                                 .count = event.old_count,
                                 .string_size = event.field_size,
                                 .is_signed = event.source == IOCX_PUTLOG_PVA}),
              (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0};
  if ((event.flags & IOCX_PUTLOG_HAS_CHOICE) != 0)
    if (std::string text = choice_in(bytes); !text.empty()) value.elements = {std::move(text)};
  if (event.old_count > 0 && value.elements.empty()) return std::nullopt;
  return told_value(std::move(value), type, event.old_count);
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
  const Bytes kept = bytes.first(event.value_bytes);
  Value sent{elements_in(type, {.bytes = kept,
                                .count = event.count,
                                .string_size = event.count == 1 ? kept.size() : kStringSize,
                                .is_signed = true}),
             event.count != 1 || (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0};
  if (event.count != 0 && sent.elements.empty()) return field;
  Taken taken = taken_of(std::move(sent), type, event, bytes);
  field.value = std::move(taken.value);
  field.sent = std::move(taken.sent);
  field.kind = taken.kind;
  return field;
}

std::optional<std::string> text_in(const Value& value) {
  if (value.elements.size() == 1)
    if (const auto* const text = std::get_if<std::string>(&value.elements.front())) return *text;
  auto characters = characters_of(value);
  if (characters) characters->resize(std::min(characters->find('\0'), characters->size()));
  return characters;
}

void read_long_strings(std::string_view name, std::initializer_list<std::optional<Value>*> values) {
  if (!iocs::parse_pv_name(name).is_long_string()) return;
  for (std::optional<Value>* const value : values)
    if (auto text = *value ? text_in(**value) : std::nullopt)
      *value = of_size({{std::move(*text)}, false}, (*value)->whole_size());
}

}  // namespace ioc_exporter::putlog
