// A trace as one line of JSON, for files of traces, answers of GET /api/v1/traces, and the
// commands.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

// 32 and 16 hexadecimal digits.
std::string id_text(const TraceId& id);
std::string id_text(SpanId id);

// "process", "put", "link_put", "inside_put".
std::string_view kind_text(SpanKind kind);

// An object, without a line end.
void append_json(std::string& out, const Trace& trace);
std::string to_json(const Trace& trace);

// The way back, for the commands: an error names the key that makes no sense.
Result<Trace> trace_from_json(std::string_view line);

}  // namespace ioc_exporter::traces
