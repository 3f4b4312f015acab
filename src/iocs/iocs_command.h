// ioc_exporter iocs learn: proposes which IOCs a site expects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"

namespace ioc_exporter::iocs {

// Answer of GET /api/v1/iocs, and its reader: the IOCs that the exporter knows.

inline constexpr const char* kIocListPath = "/api/v1/iocs";

struct ListedIoc {
  std::string name;
  std::string user;
  bool up = false;
  double start_time_seconds = 0;  // while it is up
  std::string contested_with;     // the user whose name it takes; "" = nobody
  bool expected = false;
};
using IocList = std::vector<ListedIoc>;

std::string to_json(const IocList& list);
Result<IocList> ioc_list_from_json(std::string_view text);

// `arguments` are those after "iocs". Statuses: 0 done; 1 the exporter does not give what it
// should; 2 wrong usage.
CommandResult iocs_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::iocs
