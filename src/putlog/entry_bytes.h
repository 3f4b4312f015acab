// An entry as bytes, exactly, for what waits on disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "putlog/entry.h"

namespace ioc_exporter::putlog {

std::string to_bytes(const Entry& entry);
// Nothing: they are none, or those of a newer exporter that says what this one does not know.
std::optional<Entry> from_bytes(std::string_view bytes);

}  // namespace ioc_exporter::putlog
