// Values as they travel and as an IOC has them, read for the put log. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "putlog/event.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

// "DBR_DOUBLE"; types that do not exist are "DBR_" and their number.
std::string dbr_name(std::uint16_t type);

// Value that a client sent: `bytes` of `count` elements, perhaps cut. Nothing: none of them is
// there, or this type has no value.
std::optional<Value> sent_value(std::uint16_t type, std::uint64_t count,
                                std::span<const std::byte> bytes, bool network_order = true);

// What a field takes of a value, and its type.
struct Taken {
  Value value;
  std::optional<Value> sent;  // where that is another
  Dbf kind;
  bool operator==(const Taken&) const = default;
};
// Of `sent`, of that type: as dbConvert.c does it, up to the field's own bounds. As it is where the
// field is not known, or where Bases differ. `bytes`: of the event, with its rooms.
Taken taken_of(Value sent, Dbf type, const iocx_putlog_event& event,
               std::span<const std::byte> bytes);

// PutEvent::op of an alarm's acknowledgement: its value is a severity, and it writes no field.
inline constexpr const char* kAcknowledge = "acknowledge";
bool is_acknowledgement(const iocx_putlog_event& event);

// Values of an event by Channel Access, with remarks on them. `bytes`: as above.
void read_values(PutEvent& to, const iocx_putlog_event& event, std::span<const std::byte> bytes);

// Value of the field before the put: `bytes` at the event's second room, as the IOC has them. A
// choice is its state's string where that is known. Nothing: not known.
std::optional<Value> old_value(const iocx_putlog_event& event, std::span<const std::byte> bytes);

// The field of an event IOCX_PUTLOG_VALUE, with its values. Nothing: the event is none.
std::optional<PutField> written_field(const iocx_putlog_event& event,
                                      std::span<const std::byte> bytes);

// Of one text, or of characters up to the first 0. Nothing: it is neither.
std::optional<std::string> text_in(const Value& value);

// Where the name says that they are one text ("REC.VAL$"): the characters up to the first 0, also
// if they are not printable.
void read_long_strings(std::string_view name, std::initializer_list<std::optional<Value>*> values);

}  // namespace ioc_exporter::putlog
