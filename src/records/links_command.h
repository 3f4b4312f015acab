// ioc_exporter links IOC: the Channel Access links of an IOC that are down, asked of the exporter
// that runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

inline constexpr const char* kLinksPath = "/api/v1/links";

// Answer of GET kLinksPath?ioc=NAME, as JSON or as text. An error in words: no such IOC runs, or
// its links are not known.
Result<std::string> links_of(const std::vector<IocSample>& iocs, std::string_view ioc,
                             bool as_text);

Command links_command();

}  // namespace ioc_exporter::records
