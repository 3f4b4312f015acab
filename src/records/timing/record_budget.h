// Whether one IOC's records are counted, so that this costs it no more than the budget. Pure: it is
// told the time and the hits, and says what to do.
//
// Several looks in a row over the budget take the probes off. After a rest they are attached for a
// moment, the trial; they stay when the load has fallen well below the budget. Each rest is twice
// as long as the one before, up to kMostRest, until the IOC was counted for that long: so an IOC
// on the edge costs little, and a short burst does not hide its records for minutes.
#pragma once

#include <chrono>
#include <cstdint>

namespace ioc_exporter::records {

class RecordBudget {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kLook{1}, kTrial{1}, kFirstRest{15}, kMostRest{300};
  static constexpr unsigned kLooksOver = 3;
  static constexpr double kCalm = 0.8;  // of the budget: below that they are back

  enum class Do { nothing, take_off, attach, keep };

  // `budget`: fraction of one core; 0: no bound. `hit_seconds`: what an entry costs.
  RecordBudget(double budget, double hit_seconds) : budget_(budget), hit_seconds_(hit_seconds) {}

  // To be called at due() or later. `entries`: hits of the IOC's entry probes so far.
  Do look(Clock::time_point now, std::uint64_t entries);
  // The probes are there since now: after a look that said so, or another reason to have none.
  void attached(Clock::time_point now, std::uint64_t entries);

  Clock::time_point due() const { return due_; }
  bool counts() const { return state_ == State::counts; }
  bool in_trial() const { return state_ == State::trial; }
  bool rests() const { return state_ == State::rests; }
  double load() const { return load_; }  // of the last look, fraction of one core

 private:
  enum class State { counts, rests, trial };

  double budget_, hit_seconds_;
  State state_ = State::counts;
  std::chrono::seconds rest_ = kFirstRest;  // the next one
  Clock::time_point due_{}, marked_{}, kept_since_{};
  std::uint64_t entries_ = 0;
  double load_ = 0;
  unsigned over_ = 0;  // looks in a row
};

}  // namespace ioc_exporter::records
