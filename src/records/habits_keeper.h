// HabitsKeeper: the files of RecordHabits: reads them at the start, writes them now and then, by a
// thread of its own, and at the end.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/state_files.h"
#include "records/habits_file.h"

namespace ioc_exporter::records {

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
