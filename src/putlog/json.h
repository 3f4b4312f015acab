// A put as one line of JSON. docs/putlog.md has the keys.
//
// Unknown values are absent. NaN and infinities are strings; all else as exposition/json_text.h
// says.
#pragma once

#include <string>
#include <string_view>

#include "putlog/entry.h"

namespace ioc_exporter::putlog {

// An object, without a line end.
std::string to_json(const PutEvent& event);
void append_json(std::string& out, const Entry& entry);

// The line of caPutLog (its JSON format), for existing receivers: its keys, its names for values
// that are no numbers, its bound of 400 bytes for arrays. `date` and `time` are local time.
void append_caputlog_json(std::string& out, const Entry& entry);

// A number, a string or an array of these.
void append_json_value(std::string& out, const Value& value);

}  // namespace ioc_exporter::putlog
