#include "records/habits_keeper.h"

#include <memory>
#include <utility>

#include "base/log.h"

namespace ioc_exporter::records {

KeptHabits HabitsKeeper::open(const std::string& folder, Clock::time_point now) {
  auto latest =
      file_.open<ReadHabits>(folder, kHabitFiles, kLargestHabitFile, habits_from_bytes, now);
  if (!latest.iocs.empty()) log::info("the habits of {} IOCs are known", latest.iocs.size());
  return std::move(latest.iocs);
}

void HabitsKeeper::keep(Clock::time_point now, const Known& known) {
  if (!file_.is_due(now)) return;
  const auto habits = std::make_shared<const KeptHabits>(known());  // not to be copied again
  file_.write([habits](std::uint64_t generation) { return to_bytes(generation, *habits); });
}

void HabitsKeeper::keep_now(const Known& known) {
  if (!file_.is_open()) return;
  file_.write_now([&known](std::uint64_t generation) { return to_bytes(generation, known()); });
}

}  // namespace ioc_exporter::records
