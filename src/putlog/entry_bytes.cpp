#include "putlog/entry_bytes.h"

#include <memory>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

namespace ioc_exporter::putlog {
namespace {

// Messages of protobuf. Numbers are not given again: what is on disk may be of another exporter.
namespace entry_fields {
enum {
  kPuts = 1,
  kBurst = 2,
  kLeast = 3,
  kMost = 4,
  kTime = 5,
  kSeq = 6,
  kCount = 7,
  kValue = 8,
  kOld = 9,
  kSeconds = 10,
  kIoc = 16
};
}
namespace value_fields {
enum { kIsArray = 1, kElement = 2 };
}
namespace element_fields {
enum { kWhole = 1, kNumber = 2, kText = 3 };
}

// From kIoc on, in order.
constexpr std::string PutEvent::*kTexts[] = {
    &PutEvent::ioc,         &PutEvent::server, &PutEvent::client, &PutEvent::user,
    &PutEvent::client_host, &PutEvent::pv,     &PutEvent::op,     &PutEvent::type,
    &PutEvent::status,      &PutEvent::rule,   &PutEvent::action};

void add_element(protozero::pbf_writer to, const Element& element) {
  if (const auto* text = std::get_if<std::string>(&element))
    to.add_string(element_fields::kText, *text);
  else if (const auto* whole = std::get_if<std::int64_t>(&element))
    to.add_sint64(element_fields::kWhole, *whole);
  else
    to.add_double(element_fields::kNumber, std::get<double>(element));
}

void add_value(protozero::pbf_writer& to, int field, const std::optional<Value>& value) {
  if (!value) return;
  protozero::pbf_writer out(to, static_cast<protozero::pbf_tag_type>(field));
  out.add_bool(value_fields::kIsArray, value->is_array);
  for (const Element& element : value->elements)
    add_element(protozero::pbf_writer(out, value_fields::kElement), element);
}

struct UnknownField : protozero::exception {};

Element read_element(protozero::pbf_reader from) {
  if (!from.next()) throw UnknownField();
  switch (from.tag_and_type()) {
    case protozero::tag_and_type(element_fields::kText, protozero::pbf_wire_type::length_delimited):
      return from.get_string();
    case protozero::tag_and_type(element_fields::kWhole, protozero::pbf_wire_type::varint):
      return from.get_sint64();
    case protozero::tag_and_type(element_fields::kNumber, protozero::pbf_wire_type::fixed64):
      return from.get_double();
    default:
      throw UnknownField();
  }
}

// The reader only asserts it.
void expect(const protozero::pbf_reader& from, protozero::pbf_wire_type type) {
  if (from.wire_type() != type) throw UnknownField();
}

Value read_value(protozero::pbf_reader from) {
  Value value;
  while (from.next()) {
    expect(from, from.tag() == value_fields::kIsArray ? protozero::pbf_wire_type::varint
                                                      : protozero::pbf_wire_type::length_delimited);
    switch (from.tag()) {
      case value_fields::kIsArray:
        value.is_array = from.get_uint64() != 0;
        break;
      case value_fields::kElement:
        value.elements.push_back(read_element(from.get_message()));
        break;
      default:
        throw UnknownField();
    }
  }
  return value;
}

protozero::pbf_wire_type type_of(protozero::pbf_tag_type field) {
  switch (field) {
    case entry_fields::kPuts:
    case entry_fields::kBurst:
    case entry_fields::kTime:
    case entry_fields::kSeq:
    case entry_fields::kCount:
      return protozero::pbf_wire_type::varint;
    case entry_fields::kSeconds:
      return protozero::pbf_wire_type::fixed64;
    default:
      return protozero::pbf_wire_type::length_delimited;
  }
}

void read_field(protozero::pbf_reader& from, Entry& entry, PutEvent& event) {
  const auto burst = [&entry]() -> Burst& {
    return entry.burst ? *entry.burst : entry.burst.emplace();
  };
  expect(from, type_of(from.tag()));
  switch (from.tag()) {
    case entry_fields::kPuts:
      entry.puts = from.get_uint64();
      break;
    case entry_fields::kBurst:
      from.skip();
      (void)burst();
      break;
    case entry_fields::kLeast:
      burst().least = read_element(from.get_message());
      break;
    case entry_fields::kMost:
      burst().most = read_element(from.get_message());
      break;
    case entry_fields::kTime:
      event.time = std::chrono::sys_time<std::chrono::nanoseconds>(
          std::chrono::nanoseconds(from.get_sint64()));
      break;
    case entry_fields::kSeq:
      event.seq = from.get_uint64();
      break;
    case entry_fields::kCount:
      event.count = from.get_uint64();
      break;
    case entry_fields::kValue:
      event.value = read_value(from.get_message());
      break;
    case entry_fields::kOld:
      event.old = read_value(from.get_message());
      break;
    case entry_fields::kSeconds:
      event.seconds = from.get_double();
      break;
    default:
      // Before it is read: the reader may forget it then.
      const std::size_t text = std::size_t{from.tag()} - entry_fields::kIoc;
      if (from.tag() < entry_fields::kIoc || text >= std::size(kTexts)) throw UnknownField();
      event.*kTexts[text] = from.get_string();
  }
}

}  // namespace

std::string to_bytes(const Entry& entry) {
  const PutEvent& event = *entry.event;
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_uint64(entry_fields::kPuts, entry.puts);
  if (entry.burst) {
    out.add_bool(entry_fields::kBurst, true);
    if (entry.burst->least)
      add_element(protozero::pbf_writer(out, entry_fields::kLeast), *entry.burst->least);
    if (entry.burst->most)
      add_element(protozero::pbf_writer(out, entry_fields::kMost), *entry.burst->most);
  }
  out.add_sint64(entry_fields::kTime, event.time.time_since_epoch().count());
  out.add_uint64(entry_fields::kSeq, event.seq);
  out.add_uint64(entry_fields::kCount, event.count);
  add_value(out, entry_fields::kValue, event.value);
  add_value(out, entry_fields::kOld, event.old);
  if (event.seconds) out.add_double(entry_fields::kSeconds, *event.seconds);
  auto field = static_cast<protozero::pbf_tag_type>(entry_fields::kIoc);
  for (const auto text : kTexts) {
    if (!(event.*text).empty()) out.add_string(field, event.*text);
    ++field;
  }
  return bytes;
}

std::optional<Entry> from_bytes(std::string_view bytes) {
  Entry entry;
  auto event = std::make_shared<PutEvent>();
  try {
    protozero::pbf_reader from(bytes.data(), bytes.size());
    while (from.next()) read_field(from, entry, *event);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  entry.event = std::move(event);
  return entry;
}

}  // namespace ioc_exporter::putlog
