// Habits of records, as they outlive the exporter: IOCs by name, records by a hash of theirs. Their
// text is one of StateWriter's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/state_files.h"

namespace ioc_exporter::records {

// Times are seconds in which the IOC was observed.
struct KeptHabit {
  std::uint64_t name = 0;  // fnv1a()
  std::uint32_t since = 0, active = 0, silence = 0;
  float rate = 0;
};
struct KeptIoc {
  std::string user;
  double observed = 0, next_day = 0;
  std::vector<KeptHabit> habits;
};
using KeptHabits = std::map<std::string, KeptIoc>;

inline constexpr StateFiles::Names kHabitFiles = {"habits.1", "habits.2"};
inline constexpr std::size_t kLargestHabitFile = 32u << 20;
// Of records in a file, and of IOCs.
inline constexpr std::size_t kMostKeptHabits = 500'000, kMostKeptIocs = 8192;

std::string to_bytes(std::uint64_t generation, const KeptHabits& habits);

struct ReadHabits {
  std::uint64_t generation = 0;
  KeptHabits iocs;
};
Result<ReadHabits> habits_from_bytes(std::string_view bytes);

}  // namespace ioc_exporter::records
