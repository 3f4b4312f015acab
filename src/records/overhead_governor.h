// When the probes of one IOC are attached, so that they cost it no more than a budget. Pure: it is
// told the time and the hits, and says what to do.
//
// Below the budget they are attached all the time. Above it they are attached for slices of time,
// with pauses in between that keep the mean within the budget; what the pauses hide is estimated
// (records/pause_estimates.h). The pauses' lengths are random about their mean, so that a scan with
// a period of its own is neither always seen nor never. Several calm slices in a row end it: the
// load of those must lie well below the budget, so that an IOC on the edge does not go to and fro.
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
  static constexpr double kNewest = 0.3;  // weight of the newest slice in the mean load

  enum class Action {
    none,
    begin_slices,  // stay attached; a slice begins
    pause,         // the slice is over: detach
    resume,        // the pause is over: attach, a slice begins
    end_slices,    // stay attached, for good
  };

  // `budget`: fraction of one core, 0 for none. `random`: uniform from 0 to 1.
  OverheadGovernor(double budget, HitCost cost, std::function<double()> random);

  // To be called at due() or later, with the hits of the IOC's probes so far.
  Action look(Clock::time_point now, ProbeHits hits);
  // The probes were away for another reason and are attached again: nothing that was seen before
  // counts.
  void restart(Clock::time_point now, ProbeHits hits);

  Clock::time_point due() const { return due_; }
  bool in_slices() const { return state_ != State::attached; }
  // Fraction of one core that the probes cost the IOC, pauses included; of the last look or slice.
  double overhead() const { return overhead_; }
  // Fraction of time that the probes are attached.
  double attached_share() const { return attached_share_; }

 private:
  enum class State { attached, slice, pause };

  double load_since_mark(Clock::time_point now, ProbeHits hits);
  void begin_slice(Clock::time_point now);
  Action end_slice(Clock::time_point now, double load);

  double budget_;
  HitCost cost_;
  std::function<double()> random_;
  State state_ = State::attached;
  Clock::time_point due_{};
  Clock::time_point mark_{};
  ProbeHits marked_;
  bool has_mark_ = false;
  double mean_load_ = 0;
  unsigned calm_ = 0;
  double overhead_ = 0;
  double attached_share_ = 1;
};

}  // namespace ioc_exporter::records
