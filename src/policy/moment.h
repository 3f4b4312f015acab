// A moment as people write it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ioc_exporter::policy {

// Seconds since 1970 of "2026-11-23 08:00" (local time), with or without seconds, with 'T' for the
// space, and with 'Z' or an offset such as +01:00 at the end.
Result<std::int64_t> parse_moment(const std::string& text);

}  // namespace ioc_exporter::policy
