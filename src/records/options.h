// What an operator may set about counting and timing what records do.
#pragma once

#include <chrono>
#include <cstdint>

namespace ioc_exporter::records {

struct Options {
  bool enabled = true;
  std::uint32_t max_threads = 0;  // that process records
  std::uint32_t timed_rate = 0;   // timed processings of one record a second; 0 = all
  bool causes = false;            // each record's processings by cause
  std::uint32_t links = 0;        // edges from record to record that are counted; 0 = none
  bool puts = true;               // writes inside the IOC
  bool put_clients = false;       // writes by CA with their client
  std::chrono::milliseconds stuck_after{};  // how long a record may be active
  double overhead_budget = 0;               // percent of one core for each IOC; 0 = no bound
};

}  // namespace ioc_exporter::records
