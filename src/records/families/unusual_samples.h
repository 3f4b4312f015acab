// What records do that they do not usually do: plain samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter {

struct UnusualRecord {
  std::string name;
  double value = 0;  // seconds without a processing, or processings a second
};

// Of one IOC whose records are counted.
struct UnusualSample {
  std::uint64_t stopped = 0, surging = 0;
  std::vector<UnusualRecord> worst_stopped = {}, worst_surging = {};  // some of them
  double observed_seconds = 0;  // over which the habits were learned
};

}  // namespace ioc_exporter
