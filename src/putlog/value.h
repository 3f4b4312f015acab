// Values as they travel and as an IOC has them, read for the put log. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "putlog/event.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

// "DBR_DOUBLE"; types that do not exist are "DBR_" and their number.
std::string dbr_name(std::uint16_t type);

// Value that a client sent: `bytes` of `count` elements, perhaps cut. Nothing: none of them is
// there, or this type has no value.
std::optional<Value> sent_value(std::uint16_t type, std::uint64_t count,
                                std::span<const std::byte> bytes, bool network_order = true);

// The same from an event by Channel Access, with remarks on the value.
void read_value(PutEvent& to, const iocx_putlog_event& event, std::span<const std::byte> bytes);

// Makes of that value what the field gets, as dbConvert.c does it, and keeps what was sent. As it
// is where the field is not known, or where Bases differ. `bytes`: of the event, with its rooms.
void convert_value(PutEvent& to, const iocx_putlog_event& event, std::span<const std::byte> bytes);

// Value of the field before the put: `bytes` at the event's second room, as the IOC has them. A
// choice is its state's string where that is known. Nothing: not known.
std::optional<Value> old_value(const iocx_putlog_event& event, std::span<const std::byte> bytes);

// The field of an event IOCX_PUTLOG_VALUE, with both values. Nothing: the event is none.
std::optional<PutField> written_field(const iocx_putlog_event& event,
                                      std::span<const std::byte> bytes);

// The characters of an array of numbers, up to the first 0, as one string.
Value as_long_string(const Value& value);

}  // namespace ioc_exporter::putlog
