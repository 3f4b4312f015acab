#include "records/habits_file.h"

#include <cmath>
#include <memory>

#include "base/state_bytes.h"
#include "base/utf8.h"
#include "records/habits.h"

namespace ioc_exporter::records {
namespace {

constexpr std::string_view kTitle = "ioc_exporter: habits of records, format 1\n";
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kHabitBytes =
    sizeof(std::uint64_t) + 3 * sizeof(std::uint32_t) + sizeof(float);
constexpr double kLongestObserved = 4e9;  // 126 years, within 32 bits

bool is_plausible(const KeptIoc& ioc) {
  return ioc.observed >= 0 && ioc.observed < kLongestObserved && ioc.next_day >= ioc.observed &&
         ioc.next_day <= ioc.observed + RecordHabits::kDay;
}

bool is_plausible(const KeptHabit& habit, const KeptIoc& ioc) {
  return habit.since <= habit.active && habit.active <= ioc.observed &&
         habit.silence <= ioc.observed && std::isfinite(habit.rate) && habit.rate >= 0;
}

bool take_habit(StateReader& from, KeptHabit& habit) {
  return from.take(habit.name) && from.take(habit.since) && from.take(habit.active) &&
         from.take(habit.silence) && from.take(habit.rate);
}

// As a label has it.
bool take_label(StateReader& from, std::string& into) {
  return from.take_text(into, kLongestName) && printable_utf8(into, kLongestName) == into;
}

// "" = an IOC was read.
const char* take_ioc(StateReader& from, KeptHabits& into, std::size_t& habits) {
  std::uint32_t count = 0;
  std::string name;
  KeptIoc ioc;
  if (!take_label(from, name) || name.empty()) return "an IOC's name is missing";
  if (!take_label(from, ioc.user)) return "an IOC's user is missing";
  if (!from.take(ioc.observed) || !from.take(ioc.next_day) || !is_plausible(ioc))
    return "an IOC's times cannot be";
  if (!from.take_count(count, kHabitBytes) || count > kMostKeptHabits - habits)
    return "there are fewer records than it says, or too many";
  habits += count;
  ioc.habits.resize(count);
  for (KeptHabit& habit : ioc.habits)
    if (!take_habit(from, habit) || !is_plausible(habit, ioc)) return "a record's habit cannot be";
  return into.emplace(name, std::move(ioc)).second ? "" : "an IOC is in it twice";
}

}  // namespace

std::string to_bytes(std::uint64_t generation, const KeptHabits& habits) {
  StateWriter bytes(kTitle, generation);
  bytes.put(static_cast<std::uint32_t>(habits.size()));
  for (const auto& [name, ioc] : habits) {
    bytes.put_text(name);
    bytes.put_text(ioc.user);
    bytes.put(ioc.observed);
    bytes.put(ioc.next_day);
    bytes.put(static_cast<std::uint32_t>(ioc.habits.size()));
    for (const KeptHabit& habit : ioc.habits) {
      bytes.put(habit.name);
      bytes.put(habit.since);
      bytes.put(habit.active);
      bytes.put(habit.silence);
      bytes.put(habit.rate);
    }
  }
  return bytes.finish();
}

Result<ReadHabits> habits_from_bytes(std::string_view bytes) {
  auto from = StateReader::open(bytes, kTitle);
  if (!from) return std::move(from).error();
  ReadHabits read;
  read.generation = from->generation();
  std::uint32_t count = 0;
  if (!from->take(count) || count > kMostKeptIocs) return error_in_words("there are too many IOCs");
  std::size_t habits = 0;
  for (; count > 0; --count)
    if (const std::string_view wrong = take_ioc(*from, read.iocs, habits); !wrong.empty())
      return error_in_words(std::string(wrong));
  if (!from->at_end()) return error_in_words("there is more than it says");
  return read;
}

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
