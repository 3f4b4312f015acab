// ioc_exporter locks: locks of records that threads wait for, asked of the exporter that runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

inline constexpr const char* kLocksPath = "/api/v1/locks";

// Answer of GET kLocksPath, a table as text.
std::string locks_text(const std::function<std::vector<IocSample>()>& read);

// `arguments` are those after "locks". Statuses: 0 it is printed, 1 no exporter answered (as it
// should), 2 wrong usage.
CommandResult locks_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::records
