// How many of one IOC's calls are timed, so that its probes cost it no more than the target. Pure:
// it is told the time and the hits, and says what to do.
//
// All calls are timed while that costs less than the target. Above it one in n is, by windows of
// time: outside of them the breakpoints where calls end are off, and a call costs the trap at its
// entry alone. Time is divided into cycles of n slots of the same length; in one of them, chosen by
// lot before it begins, all calls are timed, and each stands for n. So each call has the same
// chance of 1/n, whatever its duration is, and what the timed calls add up to is unbiased. Where
// one in kMost costs too much, none is timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "records/probe/threads.h"

namespace ioc_exporter::records {

// Seconds of a hit at an entry and at an end.
struct TimingCost {
  double entry = 0;
  double end = 0;
};

class TimingTarget {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLook{1000};
  static constexpr std::chrono::milliseconds kShortestWindow{250};
  static constexpr std::chrono::milliseconds kClosing{20};  // between looks whether calls are over
  static constexpr std::chrono::milliseconds kPatience{2000};
  static constexpr unsigned kMost = 100;
  static constexpr double kCalm = 0.8;  // of the limit: below that, all are timed again
  static constexpr double kSpread = 0.25;
  static constexpr double kMemorySeconds = 3;  // of the mean loads

  struct Limits {
    double target = 0;  // fraction of one core; 0: none
    double budget = 0;  // the same, for all calls that somebody wants to be timed
    std::chrono::milliseconds cycle{5000};
  };
  enum class Do { nothing, time_all, begin_window, end_window, end_window_anyhow };

  // `random`: uniform from 0 to 1.
  TimingTarget(const Limits& limits, TimingCost cost, std::function<double()> random);

  // To be called at due() or later, while the IOC is counted.
  Do look(Clock::time_point now, ProbeHits hits);
  // The probes at the ends are there since now; the window lasts window() from then on.
  void window_began(Clock::time_point now);
  // No probe at an end is left. Else look() says again to end it.
  void window_ended() { state_ = State::resting; }
  // Something else is to be looked at by then.
  void look_at(Clock::time_point time) { due_ = std::min(due_, time); }
  // The probes of the IOC are back. `all`: those at the ends, too, if they ever were.
  void restart(Clock::time_point now, ProbeHits hits, bool all);

  // While somebody wants all calls to be timed, the target does not hold, but the budget does.
  // Where that lets all be timed, a cycle ends at once, but for a window that is under way: which
  // slot of it was chosen does not depend on when that is, so that the timed calls stay unbiased.
  void set_wanted(bool wanted, Clock::time_point now);

  Clock::time_point due() const { return due_; }
  bool in_windows() const { return n_ != 1; }
  unsigned one_in() const { return n_; }  // 0: none is timed
  bool resting() const { return state_ == State::resting; }
  Clock::duration window() const { return window_; }
  double timed_share() const { return n_ == 0 ? 0 : 1.0 / n_; }
  // Fraction of one core: what entries cost, what it would cost to time all, what both do now.
  double entry_load() const { return entries_ * cost_.entry; }
  double timing_load() const { return entries_ * ends_per_entry_ * cost_.end; }
  double load() const { return entry_load() + timing_load() * timed_share(); }

 private:
  enum class State { all, before_window, window, closing, resting };

  void measure(Clock::time_point now, ProbeHits hits);
  unsigned choose() const;
  void begin_cycle(Clock::time_point now);
  Do close(Clock::time_point now);

  Limits limits_;
  TimingCost cost_;
  std::function<double()> random_;
  State state_ = State::all;
  Clock::time_point due_{}, mark_{}, cycle_end_{}, closing_since_{};
  Clock::duration window_{};
  ProbeHits marked_;
  bool has_mark_ = false, has_load_ = false;
  bool wanted_ = false;
  double entries_ = 0, ends_per_entry_ = 1;  // a second; means
  unsigned n_ = 1;
};

}  // namespace ioc_exporter::records
