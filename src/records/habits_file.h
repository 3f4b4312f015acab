// Habits of records, as they outlive the exporter: IOCs by name, records by a hash of theirs. Their
// text is one of StateWriter's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/state_files.h"

namespace ioc_exporter::records {

// Times are seconds in which the IOC was observed.
struct KeptHabit {
  std::uint64_t name = 0;     // fnv1a()
  std::uint32_t since = 0;    // when it was seen first
  std::uint32_t active = 0;   // when it processed last, as far as looks tell
  std::uint32_t silence = 0;  // the longest that is usual, seconds
  float rate = 0;             // the highest that is usual, a second
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

// HabitsKeeper: the files of RecordHabits: reads them at the start, writes them now and then, by a
// thread of its own, and at the end.
//
// Not thread-safe.
class HabitsKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // A killed exporter loses what was learned since.
  static constexpr std::chrono::minutes kPause{15};
  // Source of the habits. It takes a while with many records: called before a writing only.
  using Known = std::function<KeptHabits()>;

  // Habits kept in the folder. Errors are logged, and nothing is kept then, as without a folder.
  KeptHabits open(const std::string& folder, Clock::time_point now);
  // Writes what is known, once in kPause, and not before the last writing has ended.
  void keep(Clock::time_point now, const Known& known);
  // The same at the end: when it is done.
  void keep_now(const Known& known);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return file_.problem(); }
  const StateSample& sample() const { return file_.sample(); }

 private:
  StateKeeper file_{"habits", "habits of records", kPause};
};

}  // namespace ioc_exporter::records
