// Samples of an IOC's own variables. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ioc_exporter {

// A list of the records with one SCAN period (dbScan.c).
struct ScanListSample {
  std::string period;                     // seconds as in its thread's name: "0.1", "10"
  std::uint64_t records = 0;              // that are on the list now
  std::optional<std::uint64_t> overruns;  // since the IOC's start; since Base 3.14.12.4
};

// A queue of callback threads (callback.c), or scanOnce's (dbScan.c).
struct QueueSample {
  std::string queue;  // "low", "medium", "high", "once"
  std::uint64_t length = 0;
  std::uint64_t capacity = 0;
  // Since the IOC's start, or since they were reset in its shell; since Base 3.16.2.
  std::optional<std::uint64_t> high_water_mark, overflows;
};

struct ActiveRecord {
  std::uint32_t record = 0;  // index into the database's records
  double seconds = 0;        // active for at least so long, up to the sample
};

// SEVR and PACT of all records, seen at about the same moment.
struct RecordStatesSample {
  double time_seconds = 0;                       // time of day when the look at them began
  std::array<std::uint64_t, 4> by_severity{};    // NO_ALARM, MINOR, MAJOR, INVALID
  std::uint64_t in_flight = 0;                   // records that are active (PACT)
  std::uint64_t stuck = 0;                       // of those, the ones that are too long
  std::vector<ActiveRecord> longest_stuck = {};  // the longest first, a limited number
};

// Missing values could not be read: `notes` says why.
struct IocMemorySample {
  std::optional<std::vector<ScanListSample>> scan_lists;
  std::optional<std::vector<QueueSample>> queues;
  std::optional<std::vector<std::string>> suspended_threads;  // their names
  std::optional<RecordStatesSample> records;
  std::vector<std::string> notes;  // what this IOC does not tell, and why
};

}  // namespace ioc_exporter
