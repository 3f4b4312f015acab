#include "putlog/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "putlog/database_types.h"

namespace ioc_exporter::putlog {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

template <class T>
Bytes memory_of(std::initializer_list<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

Value numbers(std::initializer_list<std::int64_t> values, bool is_array = true) {
  return {{values.begin(), values.end()}, is_array};
}
Value number(std::int64_t value) {
  return numbers({value}, false);
}

Value real(double value) {
  return {{value}, false};
}

Value text(const std::string& value) {
  return {{value}, false};
}

TEST(PutLogValue, NamesDbrTypes) {
  EXPECT_EQ(dbr_name(0), "DBR_STRING");
  EXPECT_EQ(dbr_name(6), "DBR_DOUBLE");
  EXPECT_EQ(dbr_name(7), "DBR_STS_STRING");
  EXPECT_EQ(dbr_name(34), "DBR_CTRL_DOUBLE");
  EXPECT_EQ(dbr_name(35), "DBR_PUT_ACKT");
  EXPECT_EQ(dbr_name(36), "DBR_PUT_ACKS");
  EXPECT_EQ(dbr_name(99), "DBR_99");
}

TEST(PutLogValue, ReadsAValueOfTheIocItself) {
  EXPECT_EQ(sent_value(6, 1, memory_of<double>({1.5}), false), real(1.5));
  EXPECT_EQ(sent_value(5, 2, memory_of<std::int32_t>({-2, 7}), false), numbers({-2, 7}));
}

TEST(PutLogValue, ReadsASentValue) {
  EXPECT_EQ(sent_value(1, 1, bytes_of({0xFF, 0xFE, 0, 0, 0, 0, 0, 0})), number(-2));
  EXPECT_EQ(sent_value(2, 1, bytes_of({0x3F, 0xC0, 0, 0})), real(1.5));
  EXPECT_EQ(sent_value(3, 1, bytes_of({0xFF, 0xFE})), number(65534));
  EXPECT_EQ(sent_value(4, 1, bytes_of({0xFF})), number(255));
  EXPECT_EQ(sent_value(5, 1, bytes_of({0x80, 0, 0, 1})), number(-2147483647));
  EXPECT_EQ(sent_value(6, 1, bytes_of({0xC0, 0x04, 0, 0, 0, 0, 0, 0})), real(-2.5));
  EXPECT_EQ(sent_value(36, 1, bytes_of({0, 3})), number(3));
}

TEST(PutLogValue, KeepsTextThatIsNoNumber) {
  const auto value = sent_value(6, 1, bytes_of({0x7F, 0xF8, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(value);
  EXPECT_TRUE(std::isnan(std::get<double>(value->elements[0])));
  EXPECT_EQ(sent_value(6, 1, bytes_of({0xFF, 0xF0, 0, 0, 0, 0, 0, 0})),
            real(-std::numeric_limits<double>::infinity()));
}

TEST(PutLogValue, ReadsArraysAsFarAsTheyAreKept) {
  const Bytes three = bytes_of({0, 1, 0, 2, 0, 3});
  EXPECT_EQ(sent_value(1, 3, three), numbers({1, 2, 3}));
  EXPECT_EQ(sent_value(1, 1000, three), numbers({1, 2, 3}));
  EXPECT_EQ(sent_value(1, 2, three), numbers({1, 2}));  // the rest is padding
  EXPECT_EQ(sent_value(1, 3, bytes_of({0, 1, 0})), numbers({1}));
  EXPECT_EQ(sent_value(1, 0, {}), numbers({}));
}

TEST(PutLogValue, ReadsStrings) {
  Bytes two(80);
  std::memcpy(two.data(), "first", 5);
  std::memset(two.data() + 40, 'x', 40);
  EXPECT_EQ(sent_value(0, 1, two), text("first"));
  EXPECT_EQ(sent_value(0, 2, two), (Value{{std::string("first"), std::string(40, 'x')}, true}));
  EXPECT_EQ(sent_value(0, 1, bytes_of({'a', 'b', 0, 0, 0, 0, 0, 0})), text("ab"));
}

PutEvent read(std::uint16_t type, std::uint32_t count, std::uint32_t sent, const Bytes& bytes,
              std::uint8_t source = IOCX_PUTLOG_CA_SERVER) {
  iocx_putlog_event head{};
  head.type = type;
  head.count = count;
  head.sent_bytes = sent;
  head.source = source;
  head.value_bytes = static_cast<std::uint32_t>(bytes.size());
  PutEvent event;
  read_values(event, head, bytes);
  return event;
}

Bytes two_shorts(std::size_t before) {
  Bytes bytes(before);
  for (const int byte : {0, 3, 0, 4}) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

// Of a status, a time and limits only the value is written.
TEST(PutLogValue, ReadsTypesWithMoreThanAValue) {
  for (const auto type :
       {std::uint16_t{8}, std::uint16_t{15}, std::uint16_t{22}, std::uint16_t{29}})
    EXPECT_EQ(sent_value(type, 2, two_shorts(0)), numbers({3, 4})) << type;
  EXPECT_EQ(read(15, 2, 24, two_shorts(0)).value, numbers({3, 4}));
  EXPECT_EQ(read(15, 2, 24, two_shorts(14), IOCX_PUTLOG_CA_TAP).value, numbers({3, 4}));
}

TEST(PutLogValue, SaysWhenTheServerReadBeyondTheMessage) {
  Bytes text(40);
  std::memcpy(text.data(), "1.000000e5", 10);
  for (const std::uint32_t sent : {0u, 8u, 16u, 40u}) {
    const PutEvent put = read(0, 1, sent, text);
    EXPECT_EQ(put.value, Value({{std::string("1.000000e5")}, false}));
    EXPECT_EQ(put.overread, sent < 16) << sent;
    EXPECT_EQ(put.value_unknown, "");
  }
  EXPECT_TRUE(read(1, 2, 2, two_shorts(0)).overread);
  EXPECT_FALSE(read(1, 2, 4, two_shorts(0)).overread);
  EXPECT_TRUE(read(15, 2, 16, two_shorts(0)).overread);
  // Of an array of texts the last ones are not kept.
  EXPECT_FALSE(read(0, 100, 3968, text).overread);
}

TEST(PutLogValue, SaysWhyThereIsNone) {
  const auto why = [](const PutEvent& put) { return put.value ? "" : put.value_unknown; };
  EXPECT_EQ(why(read(37, 1, 8, two_shorts(0))), "type");
  EXPECT_EQ(why(read(1, 2, 8, {})), "unreadable");
  EXPECT_EQ(why(read(IOCX_PUTLOG_NO_TYPE, 0, 0, {})), "in_pieces");
  EXPECT_EQ(why(read(6, 4, 8, bytes_of({0, 0, 0, 0, 0, 0, 0, 0}), IOCX_PUTLOG_CA_TAP)),
            "message_too_short");
  EXPECT_EQ(why(read(0, 1, 8, Bytes(8, std::byte{'x'}), IOCX_PUTLOG_CA_TAP)), "message_too_short");
  EXPECT_EQ(why(read(0, 1, 8, bytes_of({'x', 0, 0, 0, 0, 0, 0, 0}), IOCX_PUTLOG_CA_TAP)), "");
}

TEST(PutLogValue, KnowsNoValueOfOtherTypesAndOfNothing) {
  EXPECT_EQ(sent_value(37, 1, bytes_of({0, 0, 0, 0, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(sent_value(6, 1, bytes_of({0, 0})), std::nullopt);
  EXPECT_EQ(sent_value(0, 1, {}), std::nullopt);
}

iocx_putlog_event field(std::int16_t type, std::uint16_t size, std::uint32_t count,
                        std::uint8_t enum_type = 11) {
  iocx_putlog_event event{};
  event.field_type = type;
  event.field_size = size;
  event.old_count = count;
  event.old_bytes = size * count;
  event.enum_type = enum_type;
  event.flags = count > 1 ? IOCX_PUTLOG_IS_ARRAY : 0;
  return event;
}

TEST(PutLogValue, ReadsTheOldValueOfAField) {
  EXPECT_EQ(old_value(field(1, 1, 1), memory_of<std::int8_t>({-1})), number(255));
  EXPECT_EQ(old_value(field(3, 2, 1), memory_of<std::int16_t>({-7})), number(-7));
  EXPECT_EQ(old_value(field(4, 2, 1), memory_of<std::uint16_t>({65535})), number(65535));
  EXPECT_EQ(old_value(field(5, 4, 2), memory_of<std::int32_t>({-1, 2})), numbers({-1, 2}));
  EXPECT_EQ(old_value(field(6, 4, 1), memory_of<std::uint32_t>({4294967295u})), number(4294967295));
  EXPECT_EQ(old_value(field(7, 8, 1), memory_of<std::int64_t>({INT64_MIN})), number(INT64_MIN));
  EXPECT_EQ(old_value(field(8, 8, 1), memory_of<std::uint64_t>({UINT64_MAX})),
            (Value{{std::uint64_t{18446744073709551615u}}, false}));
  EXPECT_EQ(old_value(field(9, 4, 1), memory_of<float>({0.5F})), real(0.5));
  EXPECT_EQ(old_value(field(10, 8, 1), memory_of<double>({0.1})), real(0.1));
}

TEST(PutLogValue, CountsTypesAsTheBaseOfTheIocDoes) {
  EXPECT_EQ(old_value(field(8, 8, 1, 9), memory_of<double>({0.1})), real(0.1));
  EXPECT_EQ(old_value(field(7, 4, 1, 9), memory_of<float>({0.5F})), real(0.5));
  EXPECT_EQ(old_value(field(9, 2, 1, 9), memory_of<std::uint16_t>({3})), number(3));
  // Which Base it is, is not known: what came after DBF_ULONG may be one thing or the other.
  EXPECT_EQ(old_value(field(9, 4, 1, 0), memory_of<float>({0.5F})), std::nullopt);
  EXPECT_EQ(old_value(field(6, 4, 1, 0), memory_of<std::uint32_t>({5})), number(5));
}

TEST(PutLogValue, KnowsNoOldValueOfLinksAndUnreadableFields) {
  EXPECT_EQ(old_value(field(14, 40, 1), Bytes(40)), std::nullopt);
  EXPECT_EQ(old_value(field(10, 4, 1), Bytes(4)), std::nullopt);
  EXPECT_EQ(old_value(field(10, 0, 1), Bytes(8)), std::nullopt);
  EXPECT_EQ(old_value(field(10, 8, 2), Bytes(8)), std::nullopt);
}

TEST(PutLogValue, NamesChoices) {
  iocx_putlog_event event = field(11, 2, 1);
  Bytes room(IOCX_PUTLOG_SMALL);
  room[0] = std::byte{2};
  std::memcpy(room.data() + IOCX_PUTLOG_CHOICE, "Two", 4);
  EXPECT_EQ(old_value(event, room), number(2));
  event.flags = IOCX_PUTLOG_HAS_CHOICE;
  EXPECT_EQ(old_value(event, room), text("Two"));
  room[IOCX_PUTLOG_CHOICE] = std::byte{0};  // a state without a name
  EXPECT_EQ(old_value(event, room), number(2));
}

// {value, what was sent where that is another}.
using Told = std::pair<std::optional<Value>, std::optional<Value>>;

Told convert(const Value& sent, std::int16_t type, std::uint16_t size, std::uint32_t most = 1) {
  iocx_putlog_event event = field(type, size, most);
  event.count = static_cast<std::uint32_t>(sent.elements.size());
  event.most = most;
  const Taken taken = taken_of(sent, Dbf::uchar, event, {});
  return {taken.value, taken.sent};
}

TEST(PutLogValue, TellsTheValueThatTheFieldGets) {
  EXPECT_EQ(convert(text("4.5"), 10, 8), Told(real(4.5), text("4.5")));
  EXPECT_EQ(convert(number(4), 10, 8), Told(real(4), std::nullopt));
  EXPECT_EQ(convert(real(0.1), 9, 4), Told(real(static_cast<double>(0.1F)), real(0.1)));
  EXPECT_EQ(convert(real(-4.7), 5, 4), Told(number(-4), real(-4.7)));
  EXPECT_EQ(convert(number(70'000), 3, 2), Told(number(4464), number(70'000)));
  EXPECT_EQ(convert(text("-12"), 3, 2), Told(number(-12), text("-12")));
  EXPECT_EQ(convert(text("9007199254740993"), 7, 8),
            Told(number(9007199254740993), text("9007199254740993")));
  EXPECT_EQ(convert(number(7), 0, 40), Told(text("7"), number(7)));
  EXPECT_EQ(convert(text(std::string(40, 'x')), 0, 40),
            Told(text(std::string(39, 'x')), text(std::string(40, 'x'))));
  EXPECT_EQ(convert(text("On"), 11, 2), Told(text("On"), std::nullopt));
  EXPECT_EQ(convert(real(1), 11, 2), Told(number(1), std::nullopt));
  EXPECT_EQ(convert(numbers({1, 2}), 10, 8, 2), Told(Value{{1.0, 2.0}, true}, std::nullopt));
}

TEST(PutLogValue, StaysAsItWasSentWhereThatIsNotSure) {
  const std::tuple<Value, std::int16_t, std::uint16_t> puts[] = {
      {real(1e9), 3, 2},       {real(std::nan("")), 5, 4}, {text("010"), 5, 4}, {text("1e3"), 5, 4},
      {text("4.5 mm"), 10, 8}, {real(0.5), 0, 40},         {number(1), 14, 40}};
  for (const auto& [sent, type, size] : puts) {
    const Told told = convert(sent, type, size);
    EXPECT_EQ(told.first->elements.size(), 1u);
    EXPECT_EQ(told.first->elements[0].index(), sent.elements[0].index());
    EXPECT_EQ(told.second, std::nullopt);
  }
}

Value characters(std::string_view text, bool is_array = true) {
  Value value{{}, is_array};
  for (const char one : text)
    value.elements.emplace_back(std::int64_t{static_cast<unsigned char>(one)});
  return value;
}
Value text_of(const std::string& value, std::uint64_t size) {
  return {{value}, false, size};
}

TEST(PutLogValue, TellsNoMoreThanTheFieldTakes) {
  EXPECT_EQ(convert(numbers({1, 2, 3}), 5, 4, 2), Told(numbers({1, 2}), numbers({1, 2, 3})));
  EXPECT_EQ(convert(numbers({1, 2, 3}), 5, 4), Told(number(1), numbers({1, 2, 3})));
  EXPECT_EQ(convert(characters("abc"), 0, 40), Told(text("97"), text_of("abc", 3)));
  EXPECT_EQ(convert(characters("abcde"), 1, 1, 4), Told(text_of("abcd", 4), text_of("abcde", 5)));
  iocx_putlog_event event = field(5, 4, 5);
  event.most = 5;
  event.count = 1000;  // of which two are kept
  EXPECT_EQ(taken_of(numbers({1, 2}), Dbf::int16, event, {}),
            (Taken{{numbers({1, 2}).elements, true, 5},
                   Value{numbers({1, 2}).elements, true, 1000},
                   Dbf::int32}));
}

TEST(PutLogValue, TellsPrintableCharactersAsText) {
  const std::pair<std::string, const char*> texts[] = {{"/data/run 7", "/data/run 7"},
                                                       {std::string("a\0b\xFF", 4), "a"},
                                                       {std::string(2, '\0'), ""},
                                                       {"a\tb\r\n", "a\tb\r\n"},
                                                       {"\xC2\xB5m", "\xC2\xB5m"}};
  for (const auto& [sent, told] : texts)
    EXPECT_EQ(told_value(characters(sent), Dbf::character, sent.size()),
              text_of(told, sent.size()));
  for (const std::string sent : {"\xB5m", "\t", "a\x01", "\x7F", "\xC2\x85", "a\xC2"})
    EXPECT_EQ(told_value(characters(sent), Dbf::uchar, sent.size()), characters(sent));
  EXPECT_EQ(told_value(characters(std::string("\0a", 2)), Dbf::uchar, 2),
            characters(std::string("\0a", 2)));
  EXPECT_EQ(told_value(characters("a", false), Dbf::uchar, 1), characters("a", false));
  EXPECT_EQ(told_value(characters("a"), Dbf::int16, 1), characters("a"));
  EXPECT_EQ(told_value(numbers({}), Dbf::uchar, 0), numbers({}));
}

// Of a long array nobody knows whether more follows.
TEST(PutLogValue, TellsACutTextUpToItsLastWholeCharacter) {
  EXPECT_EQ(told_value(characters("a\xE2\x82"), Dbf::uchar, 600), text_of("a", 600));
  EXPECT_EQ(told_value(characters("a\xFF"), Dbf::uchar, 600).elements,
            characters("a\xFF").elements);
  EXPECT_EQ(told_value(characters(std::string(2, '\0')), Dbf::uchar, 600).elements.size(), 2u);
}

TEST(PutLogValue, TellsEmptyArrays) {
  iocx_putlog_event event = field(10, 8, 0);
  event.flags = IOCX_PUTLOG_IS_ARRAY;
  EXPECT_EQ(old_value(event, {}), numbers({}));
}

TEST(PutLogValue, MakesLongStringsOfCharacters) {
  const auto read = [](Value value, std::string_view name = "REC.VAL$") {
    std::optional<Value> one = std::move(value);
    read_long_strings(name, {&one});
    return *one;
  };
  EXPECT_EQ(read(numbers({'a', 0xB5, 0, 'c'})), text_of("a\xB5", 4));
  EXPECT_EQ(read(numbers({})), text(""));
  EXPECT_EQ(read(real(1.5)), real(1.5));
  EXPECT_EQ(read(numbers({'a', 0xB5}), "REC.VAL"), numbers({'a', 0xB5}));
}

}  // namespace
}  // namespace ioc_exporter::putlog
