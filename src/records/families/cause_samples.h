// Why records processed: plain samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace ioc_exporter {

inline constexpr std::size_t kSeverities = 4;  // menuAlarmSevr: NO_ALARM, MINOR, MAJOR, INVALID

// Of one IOC, since the exporter first saw its records.
struct ProcessingSample {
  std::map<std::string, std::uint64_t> causes;  // processings by "scan_0.1", "ca", "link", ...
  std::uint64_t timed = 0;                      // processings whose duration was measured
  std::array<std::uint64_t, kSeverities>
      transitions{};  // changes of a record's SEVR, by the new one
};

// Of one record, with --records.causes.
struct RecordCauseSample {
  std::uint32_t record = 0;  // index into the database's records; UINT32_MAX: name not known
  std::string cause;
  std::uint64_t count = 0;
};

}  // namespace ioc_exporter
