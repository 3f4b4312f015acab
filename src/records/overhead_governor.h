// When the probes of one IOC are attached, so that they cost it no more than a budget. Pure: it is
// told the time and the hits, and says what to do.
//
// Below the budget they are attached all the time. Above it time is divided into cycles of n slots
// of the same length, and the probes are attached in one slot of each cycle, chosen by lot: a
// slice, which stands for its cycle (records/pause_estimates.h). n and the length of the slots are
// fixed when the cycle begins, by the loads of earlier slices. So each moment has the same chance
// of 1/n to be in the slice, whatever the load is then: what is counted, times n, is what happened
// on average, in bursts too. The slots' length has a random part, so that a scan with a period of
// its own is not always met at the same phase.
//
// Before that, calls are timed less (records/timing_governor.h): counts become estimates only where
// the entries alone cost too much. In a slice all calls are timed.
//
// Several calm slices in a row end it, when their cycle ends: the load of those must lie well below
// the budget, so that an IOC on the edge does not go to and fro.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "records/hit_cost.h"
#include "records/threads.h"

namespace ioc_exporter::records {

class OverheadGovernor {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLook{1000};  // while attached all the time
  static constexpr std::chrono::milliseconds kCycle{4000};
  static constexpr std::chrono::milliseconds kShortestSlice{200};
  static constexpr double kCalm = 0.8;  // of the budget
  static constexpr unsigned kCalmSlices = 3;
  static constexpr double kNewest = 0.3;   // weight of the newest slice in the mean load
  static constexpr double kSpread = 0.25;  // of a slot's length, up and down

  // What begins and ends now; in this order.
  struct Step {
    bool slice_ends = false;
    bool cycle_ends = false;  // without cycle_begins: attached all the time from now on
    bool cycle_begins = false;
    bool slice_begins = false;
  };

  // `budget`: fraction of one core, 0 for none. `random`: uniform from 0 to 1. `least_timed`: of
  // the returns of a slice, those that cannot be done without when it is over.
  OverheadGovernor(double budget, HitCost cost, std::function<double()> random,
                   double least_timed = 1);

  // To be called at due() or later, with the hits of the IOC's probes so far.
  Step look(Clock::time_point now, ProbeHits hits);
  // The probes, wanted by the last step, are attached only now: the slice is long enough even so.
  void attached(Clock::time_point now);
  // The probes were away for another reason and are attached again: nothing that was seen before
  // counts.
  void restart(Clock::time_point now, ProbeHits hits);

  // What hits cost is known better now.
  void set_cost(HitCost cost) { cost_ = cost; }

  Clock::time_point due() const { return due_; }
  bool in_slices() const { return state_ != State::attached; }
  bool wants_probes() const { return state_ == State::attached || state_ == State::slice; }
  // Of the cycle, as planned.
  double cycle_seconds() const;
  // Fraction of one core that the probes cost the IOC, pauses included; of the last look or slice.
  double overhead() const { return overhead_ + pause_load_ * (1 - attached_share_); }
  // The same in the last pause, or the last part of it: of probes that stay.
  double pause_load() const { return pause_load_; }
  // Fraction of time that the probes are attached.
  double attached_share() const { return attached_share_; }

 private:
  enum class State { attached, before_slice, slice, after_slice };

  struct Load {
    double all = 0;
    double least = 0;  // with as few timed calls as may be
  };
  Load load_since_mark(Clock::time_point now, ProbeHits hits);
  void begin_cycle(Clock::time_point now, Step& step);
  void begin_slice(Step& step);
  Step end_slice(Clock::time_point now, Load load);
  void end_cycle(Clock::time_point now, Step& step);

  double budget_;
  HitCost cost_;
  std::function<double()> random_;
  double least_timed_;
  State state_ = State::attached;
  Clock::time_point due_{};
  Clock::time_point mark_{};
  ProbeHits marked_;
  bool has_mark_ = false;
  Clock::time_point cycle_began_{}, cycle_end_{};
  Clock::duration slot_{};
  double mean_load_ = 0;
  unsigned calm_ = 0;
  double overhead_ = 0, pause_load_ = 0;
  double attached_share_ = 1;
};

}  // namespace ioc_exporter::records
