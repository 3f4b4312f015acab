// What an operator may set about finding IOCs.
#pragma once

#include <chrono>
#include <vector>

#include "iocs/ioc_filter.h"
#include "iocs/ioc_name.h"

namespace ioc_exporter::iocs {

struct Options {
  IocFilter filter;
  std::vector<NameSource> name_sources;
  std::chrono::milliseconds keep_gone{};  // how long an IOC that is gone stays on /metrics
  std::chrono::milliseconds interval{};   // between two looks at the host
};

}  // namespace ioc_exporter::iocs
