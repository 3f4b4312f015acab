// ProbeControl: decides, for each IOC whose records are counted, when the probes that time its
// calls are attached, and follows what the budget of all rooms says of it (probes/budget.h). IOCs
// with one attachment have the ends of their calls seen together, so they have one level of timing
// (records/timing/timing_target.h), that of the one that can bear least.
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

#include "base/log.h"
#include "probes/budget.h"
#include "records/families/samples.h"
#include "records/probe/process.h"
#include "records/timing/timing_target.h"

namespace ioc_exporter::records {

class ProbeControl {
 public:
  using Clock = std::chrono::steady_clock;
  using Decision = probes::Budget::Decision;
  // How long timed calls, and their completions, are waited for after their second.
  static constexpr std::chrono::seconds kPatience{60};

  // `records` and `budget` must outlive it. `target`: of TimingLevel. `random`: uniform from 0 to
  // 1, chooses the seconds that are timed.
  ProbeControl(RecordProcess& records, probes::Budget& budget, double target, HitCost cost,
               std::function<double()> random = uniform_random());

  // An IOC that RecordProcess watches from now on; `name` is for the log.
  void watch(std::uint32_t slot, std::string name);
  // Before RecordProcess::unwatch().
  void forget(std::uint32_t slot);

  // All its calls are wanted to be timed: then the target does not hold.
  void set_wanted(std::uint32_t slot, bool wanted);

  // Follows the budget, reports what the IOCs pay, and does what is due.
  void tick(Clock::time_point now = Clock::now());
  // When a cycle or a window begins or ends; nothing while there are none.
  std::optional<Clock::time_point> next_due() const;

  // That its probes have taken from the threads of a watched IOC, by those hits.
  double seconds(std::uint32_t slot, const ProbeHits& hits);
  // Nothing when the slot is not watched.
  std::optional<OverheadSample> sample(std::uint32_t slot) const;

 private:
  struct Watched {
    std::string name;
    iocs::IocId id;
    TimingLevel timing;
    Decision counting = {};    // the last one
    bool may_be_timed = true;  // by the budget
    bool has_extras = true;    // the same; not on trial
    bool is_stopped = false;   // timing: by that of an IOC with the same attachment
    bool wanted = false;       // to be timed as a whole
    bool choose = false;       // that has changed
    // The probes that time calls are there: the end of the window that they are, or were, for.
    std::optional<Clock::time_point> window_end = {};
    Clock::time_point window_due = {};  // of the next check for calls under way
    bool fresh = true;                  // nothing has been seen since the probes were attached
    std::string reported = {};
    ProbeHits hits = {};
    ProbeCost beside = {};  // what other IOCs' attachments on the same functions have cost
    ProbeCost cost = {};    // with that
  };
  static std::function<double()> uniform_random();

  // The IOCs that have one attachment.
  using Unit = std::vector<std::pair<const std::uint32_t, Watched>*>;

  static bool is_off(const Watched& watched) {  // for the budget, or on trial
    return watched.counting.state != probes::Budget::State::on;
  }
  // Its probes are off, but not for the budget.
  bool is_away(std::uint32_t slot, const Watched& watched) const {
    return watched.counting.state != probes::Budget::State::off && !records_.is_counted(slot);
  }
  void follow_budget(Clock::time_point now);
  void follow(std::uint32_t slot, Watched& watched, const Decision& decision,
              Clock::time_point now);
  void count(std::uint32_t slot, Watched& watched, const Decision& decision, Clock::time_point now);
  void pay(Watched& watched, const ProbeHits& hits) const;
  void report_costs(const Watched& watched);
  void stop_timing(std::uint32_t slot, Watched& watched, Clock::time_point now);
  bool may_be_timed(const Unit& unit, Clock::time_point now);
  void follow_timing(Clock::time_point now);
  void follow_cycle(const std::map<std::size_t, Unit>& units, unsigned level, TimingCycle::Do what,
                    Clock::time_point now);
  void choose_level(const Unit& unit, Clock::time_point now);
  void set_level(std::uint32_t slot, Watched& watched, unsigned level, const Watched& dearest,
                 Clock::time_point now);
  void begin_window(std::uint32_t slot, Watched& watched);
  void end_window(std::uint32_t slot, Watched& watched, Clock::time_point now);
  void report(Watched& watched, const std::string& action, const Error& error);

  RecordProcess& records_;
  probes::Budget& budget_;
  double target_;
  HitCost cost_;
  std::array<TimingCycle, 2> cycles_;
  std::map<std::uint32_t, Watched> watched_;
  TroubleLog trouble_;
};

}  // namespace ioc_exporter::records
