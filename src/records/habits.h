// RecordHabits: which records do what they do not usually do. Each is compared with itself:
// - one that has stopped was never silent for so long before: longer than kPatience, and than
//   kTimesSilence the longest silence that was usual for it. So what rests at night may rest on a
//   weekend, too;
// - one that surges processes kTimesRate as often in a second as ever before, and kLeastRate times
//   at least.
//
// A habit takes kLearning to learn. It belongs to the IOC's name: a restart does not change it, and
// another user's IOC of that name does not have it. Time in which the IOC does not run, or its
// records are not counted, is not silence; the first minutes of an IOC's life tell nothing of
// surges. A record that is unusual for kAccepting has a new habit, and a surge that has ended is
// one for some weeks. Habits outlive the exporter (kept() and restore()); time in which it does not
// run is not silence either.
//
// It costs 32 bytes a record and, once in kInterval at most, 6 to 30 ns a record. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "records/families/samples.h"
#include "records/habits_file.h"

namespace ioc_exporter::records {

class RecordHabits {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kInterval{60};
  static constexpr std::uint32_t kPatience = 600;  // seconds, as all that follows
  static constexpr std::uint32_t kYouth = 600;     // of an IOC's life
  static constexpr std::uint32_t kDay = 86'400;
  static constexpr std::uint32_t kLearning = kDay;
  static constexpr std::uint32_t kAccepting = 3 * kDay;
  static constexpr std::uint32_t kTimesSilence = 6;
  static constexpr double kTimesRate = 10, kLeastRate = 20;  // a second
  static constexpr std::size_t kShown = 10;                  // of an IOC, by name
  // Of IOCs that do not run, records in all. The IOC seen least is evicted first.
  static constexpr std::size_t kMostKept = kMostKeptHabits;

  // Compares them, when kInterval has gone by; from then on add_to() tells.
  void look(const std::vector<IocSample>& iocs, Clock::time_point now);
  // IocSample::unusual. Names that `shown` leaves out are counted only.
  void add_to(std::vector<IocSample>& iocs, const NameFilter& shown) const;

  // Habits to keep: of IOCs that run first, then of those that were observed longest, kMostKept
  // records in all.
  KeptHabits kept() const;
  // Before the first look. IOCs take them up when they are seen, their records by name.
  void restore(KeptHabits&& habits);

 private:
  // Of a record. Times are those of its Ioc::observed.
  struct Habit : KeptHabit {
    std::uint64_t processed = 0;  // at the last look
  };
  static_assert(sizeof(Habit) == 32);

  struct Ioc {
    std::string user;
    std::int32_t pid = 0;  // of its life
    double start_time_seconds = 0;
    std::shared_ptr<const Database> database;  // while it runs
    std::vector<Habit> habits;                 // in the order of the database
    std::vector<float> peaks;                  // of those that surge; empty: none does
    double observed = 0;                       // seconds in which it was counted
    double life = 0;                           // of those, in this life
    double next_day = kDay;
    std::optional<Clock::time_point> looked;  // none: what was counted before is not known
    Clock::time_point there;                  // counted, at a look
    UnusualSample unusual;
  };

  static void take_database(Ioc& ioc, const IocSample& sample);
  static void begin_life(Ioc& ioc, const IocSample& sample);
  void compare(Ioc& ioc, const IocSample& sample, Clock::time_point now);
  static bool has_stopped(const Ioc& ioc, Habit& habit, bool processed, std::uint32_t now);
  static bool surges(const Ioc& ioc, Habit& habit, double rate, double elapsed, std::uint32_t now);
  static void note_surge(Ioc& ioc, std::size_t record, double rate, bool surges);
  void forget_some();

  std::map<std::string, Ioc> iocs_;
  std::vector<std::uint64_t> counts_;  // of one IOC, while it is compared
  std::optional<Clock::time_point> last_;
};

}  // namespace ioc_exporter::records
