// Causes of a chain of records: the names of the kernel's numbers (bpf/shared/traces.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/traces.h"

namespace ioc_exporter::traces {

constexpr const char* cause_name(std::uint32_t cause) {
  return iocx_cause_labels[cause < IOCX_CAUSES ? cause : std::uint32_t{IOCX_CAUSE_OTHER}];
}

// Nothing: there is no such cause.
constexpr std::optional<std::uint32_t> cause_number(std::string_view name) {
  for (std::uint32_t cause = 0; cause < IOCX_CAUSES; ++cause)
    if (cause != IOCX_CAUSE_LINK && name == cause_name(cause)) return cause;
  return std::nullopt;
}

inline std::vector<std::string> cause_names() {
  std::vector<std::string> names;
  for (std::uint32_t cause = 0; cause < IOCX_CAUSES; ++cause)
    if (cause != IOCX_CAUSE_LINK && cause != IOCX_CAUSE_OTHER)
      names.emplace_back(cause_name(cause));
  names.emplace_back(cause_name(IOCX_CAUSE_OTHER));
  return names;
}

}  // namespace ioc_exporter::traces
