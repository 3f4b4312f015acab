// What SeenIocs knows, as a text that outlives the exporter (base/state_files.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/state_files.h"
#include "iocs/seen_iocs.h"

namespace ioc_exporter::iocs {

struct SeenText {
  std::uint64_t generation = 0;
  SeenByName iocs;
};
std::string to_text(const SeenText& seen);
// The error says what is wrong, and in which line.
Result<SeenText> seen_from_text(std::string_view text);

inline constexpr StateFiles::Names kSeenFiles = {"seen-iocs.1", "seen-iocs.2"};
// The later of the two. None: nothing was written yet, or neither is whole. `problem`: what is
// wrong with one of them, "" = nothing.
SeenText read_seen(const std::string& folder, std::string& problem);

}  // namespace ioc_exporter::iocs
