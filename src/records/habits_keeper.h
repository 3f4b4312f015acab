// HabitsKeeper: the files of RecordHabits: reads them at the start, writes them now and then, by a
// thread of its own, and at the end.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/state_keeper.h"
#include "records/habits_file.h"

namespace ioc_exporter::records {

class HabitsKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // Who is killed loses what was learnt since.
  static constexpr std::chrono::minutes kPause{15};
  // What is known. It takes a while with many records: asked for when it is written only.
  using Known = std::function<KeptHabits()>;

  // What was kept in the folder. What fails is logged, and nothing kept; so it is without a folder.
  KeptHabits open(const std::string& folder, Clock::time_point now);
  // Writes what is known, once in kPause, and not before the last writing has ended.
  void keep(Clock::time_point now, const Known& known);
  // The same at the end: when it is done.
  void keep_now(const Known& known);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return file_.problem(); }
  const StateSample& sample() const { return file_.sample(); }

 private:
  Clock::time_point next_{};
  StateKeeper file_{"habits", "habits of records"};
};

}  // namespace ioc_exporter::records
