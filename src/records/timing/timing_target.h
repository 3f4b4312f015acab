// How much of an IOC's time is timed, so that this adds no more than the target to what counting
// costs. Pure: time and cost are parameters.
//
// Three levels: all calls, 1 second in 16, 1 second in 64. The second is chosen by lot before its
// cycle of 16 or 64 seconds begins; calls that begin in it are timed, and stand for 16 or 64. So
// each call has the same chance, whatever its duration is, and what timed calls add up to is
// unbiased. A call within another one is timed when that is, with its weight, and never alone. The
// level changes between two cycles: it must not depend on the lots.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <utility>

namespace ioc_exporter::records {

// Seconds of a core that an IOC's probes have taken so far.
struct ProbeCost {
  double counting = 0;
  double timing = 0;
};

// The level of one IOC: one second in 1, 16 or 64.
class TimingLevel {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::array<unsigned, 3> kLevels{1, 16, 64};
  static constexpr double kCalm = 0.8;         // of the target: below that, more is timed again
  static constexpr double kMemorySeconds = 3;  // of the mean cost of counting

  // `target`: fraction of one core; 0: none.
  explicit TimingLevel(double target) : target_(target) {}

  // The probes are there since now.
  void restart(Clock::time_point now, const ProbeCost& cost);
  // About once a second.
  void measure(Clock::time_point now, const ProbeCost& cost);
  // At the end of a cycle: what was spent in it, when the level held for all of it.
  void end_cycle(Clock::time_point now, const ProbeCost& cost);
  // By what was measured last. While somebody wants all calls to be timed, the target does not
  // hold. 1 second in 64 is timed whatever it costs.
  unsigned choose(bool all_wanted) const;
  void set(unsigned level, Clock::time_point now, const ProbeCost& cost);

  unsigned level() const { return level_; }
  // Fraction of one core: what counting costs, and what timing at a level does.
  double counting() const { return counting_; }
  double timing(unsigned level) const;

 private:
  double target_;
  unsigned level_ = 1;
  Clock::time_point mark_{}, cycle_{};
  ProbeCost marked_, at_cycle_;
  bool has_load_ = false;
  double counting_ = 0, spent_ = 0;  // fractions of one core; for timing at this level
  double timing_per_counting_ = 1;   // while all are timed
};

// The cycles of one level.
class TimingCycle {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Do { nothing, begin_cycle, begin_window };

  static constexpr std::chrono::seconds kWindow{1};

  // `random`: uniform from 0 to 1.
  TimingCycle(unsigned seconds, std::function<double()> random)
      : seconds_(seconds), random_(std::move(random)) {}

  // To be called at due() or later, until there is nothing to do.
  Do next(Clock::time_point now);
  Clock::time_point due() const { return has_window_ ? window_ : end_; }

 private:
  unsigned seconds_;
  std::function<double()> random_;
  Clock::time_point window_{}, end_{};
  bool has_window_ = false;  // it is still to come
};

}  // namespace ioc_exporter::records
