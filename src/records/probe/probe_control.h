// ProbeControl: decides, for each IOC whose records are counted, when the probes that time its
// calls are attached, and that all are off while to count would cost more than the budget
// (RecordBudget). IOCs with one attachment have the ends of their calls seen together, so they have
// one level of timing (records/timing/timing_target.h), that of the one that can bear least.
//
// Not thread-safe: under the same mutex as its RecordProcess.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "records/families/samples.h"
#include "records/probe/process.h"
#include "records/timing/timing_target.h"

namespace ioc_exporter::records {

// Whether one IOC's records are counted, so that this costs it no more than the budget. Pure: it is
// told the time and the cost, and says what to do.
//
// Several looks in a row over the budget take the probes off. After a rest they are attached for a
// moment, the trial; they stay when the load has fallen well below the budget. Each rest is twice
// as long as the one before, up to kMostRest, until the IOC was counted for that long: so an IOC
// on the edge costs little, and a short burst does not hide its records for minutes.
class RecordBudget {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kLook{1}, kTrial{1}, kFirstRest{15}, kMostRest{300};
  static constexpr unsigned kLooksOver = 3;
  static constexpr double kCalm = 0.8;  // of the budget: below that they are back

  enum class Do { nothing, take_off, attach, keep };

  // `budget`: fraction of one core; 0: no bound.
  explicit RecordBudget(double budget) : budget_(budget) {}

  // To be called at due() or later. `spent`: seconds that the IOC's probes have taken so far.
  Do look(Clock::time_point now, double spent);
  // The probes are there since now: after a look that said so, or another reason to have none.
  void attached(Clock::time_point now, double spent);

  Clock::time_point due() const { return due_; }
  bool counts() const { return state_ == State::counts; }
  bool in_trial() const { return state_ == State::trial; }
  bool rests() const { return state_ == State::rests; }
  double load() const { return load_; }  // of the last look, fraction of one core

 private:
  enum class State { counts, rests, trial };

  double budget_;
  State state_ = State::counts;
  std::chrono::seconds rest_ = kFirstRest;  // the next one
  Clock::time_point due_{}, marked_{}, kept_since_{};
  double spent_ = 0, load_ = 0;
  unsigned over_ = 0;  // looks in a row
};

class ProbeControl {
 public:
  using Clock = std::chrono::steady_clock;
  // How long timed calls, and their completions, are waited for after their second.
  static constexpr std::chrono::seconds kPatience{60};

  // `records` must outlive it. `random`: uniform from 0 to 1, chooses the seconds that are timed.
  ProbeControl(RecordProcess& records, const TimingLevel::Limits& limits, HitCost cost,
               std::function<double()> random = uniform_random());

  // An IOC that RecordProcess watches from now on; `name` is for the log.
  void watch(std::uint32_t slot, std::string name);
  // Before RecordProcess::unwatch().
  void forget(std::uint32_t slot);

  // All its calls are wanted to be timed: then the target does not hold, but the budget does.
  void set_wanted(std::uint32_t slot, bool wanted);

  // Looks at the IOCs that are due.
  void look(Clock::time_point now = Clock::now());
  // When a cycle, a window or a trial begins or ends; nothing while there are none. Others are to
  // be looked at about once a second.
  std::optional<Clock::time_point> next_due() const;

  // Nothing when the slot is not watched.
  std::optional<OverheadSample> sample(std::uint32_t slot) const;

 private:
  struct Watched {
    std::string name;
    RecordBudget budget;
    TimingLevel timing;
    bool wanted = false;  // to be timed as a whole
    bool choose = false;  // that has changed
    // The probes that time calls are there: the end of the window that they are, or were, for.
    std::optional<Clock::time_point> window_end = {};
    Clock::time_point window_due = {};  // when to look whether they are still needed
    bool fresh = true;                  // nothing has been seen since the probes were attached
    std::string reported = {};
    ProbeCost cost = {};
  };
  static std::function<double()> uniform_random();

  // The IOCs that have one attachment.
  using Group = std::vector<std::pair<const std::uint32_t, Watched>*>;

  // Its probes are off, but not for the budget.
  bool is_away(std::uint32_t slot, const Watched& watched) const {
    return !watched.budget.rests() && !records_.is_counted(slot);
  }
  void follow_budget(std::uint32_t slot, Watched& watched, Clock::time_point now);
  void take_off(std::uint32_t slot, Watched& watched, Clock::time_point now, bool in_trial);
  void follow_timing(Clock::time_point now);
  void follow_cycle(const std::map<std::size_t, Group>& groups, unsigned level,
                    TimingCycle::Do what, Clock::time_point now);
  void choose_level(const Group& group, Clock::time_point now);
  void set_level(std::uint32_t slot, Watched& watched, unsigned level, const Watched& dearest,
                 Clock::time_point now);
  void begin_window(std::uint32_t slot, Watched& watched);
  void end_window(std::uint32_t slot, Watched& watched, Clock::time_point now);
  void report(Watched& watched, const std::string& action, const Error& error);

  RecordProcess& records_;
  TimingLevel::Limits limits_;
  HitCost cost_;
  std::array<TimingCycle, 2> cycles_;
  std::map<std::uint32_t, Watched> watched_;
};

}  // namespace ioc_exporter::records
