// Samples of an IOC as a whole. Plain data.
//
// Counters grow from the moment the exporter first saw the thing they count and never shrink while
// it runs. Durations are nanoseconds of CLOCK_MONOTONIC; times of day are seconds since 1970 (UTC).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iocs/health/health_samples.h"
#include "iocs/health/ioc_exit.h"
#include "iocs/memory/database.h"

namespace ioc_exporter {

struct IocFacts {
  std::string name;  // label `ioc`, unique
  bool up = false;
  bool only_up = false;  // it is gone for so long that epics_ioc_up alone is left of it
  bool base = true;      // runs EPICS Base's database; false: has no records
  std::int32_t pid = 0;
  double start_time_seconds = 0;  // time of day
  double end_time_seconds = 0;    // the same, when it was seen to be gone; 0: it runs
  std::string base_version;       // "7.0.8.1"; "" when it could not be told
  std::string executable;         // path as the IOC sees it
  std::string directory;          // it works in, the same
  std::string user;               // who started it
  std::string claimed_name;       // what it calls itself
  std::string contested_with;     // the user who has that name, or had it before; "" = nobody
  std::optional<std::uint16_t> ca_port;
  std::vector<std::uint16_t> tcp_ports;      // all that it listens on
  std::string problem;                       // why something of it is missing; "" = all is well
  std::shared_ptr<const Database> database;  // null while it could not be read
  std::uint64_t restarts = 0;                // times that an IOC of this name came again
  std::optional<HealthSample> health;        // while it runs
  std::optional<iocs::IocExit> last_exit;    // how it ended last, where that was seen
  std::vector<std::string> notes;            // what this IOC does not tell, and why
};

// IOCs that are not on the page, since there are not enough places.
struct LeftOut {
  static constexpr std::size_t kMostUsers = 32;  // that are shown by their names

  std::map<std::string, std::uint64_t> by_user;  // that run, now
  // From the start on: running ones that were followed before; gone ones, before their time.
  std::uint64_t evicted = 0, gone_evicted = 0;
};

}  // namespace ioc_exporter
