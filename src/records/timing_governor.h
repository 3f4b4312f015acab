// How many of one IOC's calls are timed, so that its probes stay near the target and within the
// budget. Pure: it is told the time and the hits, and says what to do.
//
// All calls are timed while that costs less than the target. Above it one in n is: where ends are
// seen by breakpoints, by windows of time, outside of which a call costs the trap at its entry and
// nothing more. Time is divided into cycles of n slots of the same length; in one of them, chosen
// by lot before it begins, all calls are timed, and each stands for n. So each call has the same
// chance of 1/n, whatever its duration is, and what the timed calls add up to is unbiased. n is at
// most kMostForTarget for the target, so that a record that processes n times in a second is timed
// about once in one; for the budget it may be more, before counts become estimates
// (overhead_governor.h).
//
// By session probes the kernel chooses among the calls of each record (bpf/shared/sampling.h):
// there the rate that it goes by follows the target.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include "records/hit_cost.h"
#include "records/threads.h"

namespace ioc_exporter::records {

enum class TimingChoice { all, by_windows, by_rate };

class TimingGovernor {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLook{1000};
  static constexpr std::chrono::milliseconds kCycle{5000};
  // Where it takes the kernel a second to take probes off.
  static constexpr std::chrono::milliseconds kLongCycle{60000};
  static constexpr std::chrono::milliseconds kShortestWindow{250};
  static constexpr std::chrono::milliseconds kClosing{20};  // between looks whether calls are over
  static constexpr std::chrono::milliseconds kPatience{2000};
  static constexpr unsigned kMostForTarget = 10;
  static constexpr unsigned kMostForBudget = 100;
  static constexpr double kCalm = 0.8;  // of the target: below that, all are timed again
  static constexpr double kSpread = 0.25;
  static constexpr double kMemorySeconds = 3;  // of the mean loads
  static constexpr std::uint32_t kLeastRate = 1;

  struct Limits {
    double target = 0;  // fraction of one core; 0 for none
    double budget = 0;
    TimingChoice choice = TimingChoice::all;
    std::uint32_t most_rate = 0;  // by_rate: the one while the target holds
    std::chrono::milliseconds cycle = kCycle;
  };
  enum class Do { nothing, time_all, begin_window, end_window, end_window_anyhow, set_rate };

  // `random`: uniform from 0 to 1.
  TimingGovernor(const Limits& limits, HitCost cost, std::function<double()> random);

  // To be called at due() or later, while the IOC is counted all the time.
  Do look(Clock::time_point now, ProbeHits hits);
  // The probes for durations are there since now; the window lasts window() from then on.
  void window_began(Clock::time_point now);
  // No probe for durations is left. Else look() says again to end it.
  void window_ended() { state_ = State::resting; }
  // Something else is to be looked at by then.
  void look_at(Clock::time_point time) { due_ = std::min(due_, time); }
  // All calls have been timed meanwhile, if any were.
  void restart(Clock::time_point now, ProbeHits hits);

  // While somebody wants all calls to be timed, the target does not hold, but the budget does.
  // Where that lets all be timed, a cycle ends at once, but for a window that is under way: which
  // slot of it was chosen does not depend on when that is, so that the timed calls stay unbiased.
  void set_wanted(bool wanted, Clock::time_point now);

  // What hits cost is known better now.
  void set_cost(HitCost cost) { cost_ = cost; }

  Clock::time_point due() const { return due_; }
  bool in_windows() const { return n_ > 1; }
  unsigned one_in() const { return n_; }
  Clock::duration window() const { return window_; }
  std::uint32_t rate() const { return rate_; }
  // Fractions of one core: what entries cost, and what it would cost to time all calls.
  double entry_load() const { return entries_ * cost_.entry_seconds; }
  double timing_load() const { return entries_ * returns_per_entry_ * cost_.return_seconds; }
  // Whether return hits come now for what one_in() does not account for.
  bool resting() const { return state_ == State::resting; }
  // Fraction of calls that are timed, about.
  double timed_share() const;

 private:
  enum class State { all, before_window, window, closing, resting };

  void measure(Clock::time_point now, ProbeHits hits);
  unsigned choose() const;
  Do follow_rate();
  void begin_cycle(Clock::time_point now);
  Do close(Clock::time_point now);

  Limits limits_;
  HitCost cost_;
  std::function<double()> random_;
  State state_ = State::all;
  Clock::time_point due_{}, mark_{}, cycle_end_{}, closing_since_{};
  Clock::duration window_{};
  ProbeHits marked_;
  bool has_mark_ = false, has_load_ = false, has_ratio_ = false;
  bool wanted_ = false;
  double entries_ = 0, returns_per_entry_ = 0;  // a second; means
  unsigned n_ = 1;
  std::uint32_t rate_;
};

}  // namespace ioc_exporter::records
