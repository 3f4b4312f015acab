// ioc_exporter iocs: lists the IOCs of a host; iocs learn: proposes which ones a site expects.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"

namespace ioc_exporter::iocs {

// Answer of GET /api/v1/iocs: the IOCs that the exporter knows.

inline constexpr const char* kIocListPath = "/api/v1/iocs";

struct ListedIoc {
  std::string name;
  std::string user;
  bool up = false;
  double start_time_seconds = 0;  // while it is up
  std::string claimed_from;       // the user whose name it takes; "" = nobody
  bool expected = false;
};
using IocList = std::vector<ListedIoc>;

std::string to_json(const IocList& list);
std::string to_text(const IocList& list);
// Those that run, as the section iocs.expected of a configuration file, or as names only. `user`:
// of this one only, "" = of all. The error: none runs.
Result<std::string> expected_text(IocList list, const std::string& user, bool names, double now);

Command iocs_command();
Command iocs_learn_command();

}  // namespace ioc_exporter::iocs
