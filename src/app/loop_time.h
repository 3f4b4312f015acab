// How long the loop's rounds take. Pure: it is told the time.
#pragma once

#include <algorithm>
#include <chrono>

#include "exposition/self_samples.h"

namespace ioc_exporter::app {

class LoopTime {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{60};

  void note(Clock::time_point now, double seconds) {
    turn(now);
    ++sample_.ticks;
    sample_.seconds += seconds;
    longest_ = std::max(longest_, seconds);
  }
  LoopSample sample(Clock::time_point now) {
    turn(now);
    sample_.longest = std::max(longest_, longest_before_);
    return sample_;
  }

 private:
  void turn(Clock::time_point now) {
    if (now - began_ < kWindow) return;
    longest_before_ = now - began_ < 2 * kWindow ? longest_ : 0;
    longest_ = 0;
    began_ = now;
  }

  LoopSample sample_;
  double longest_ = 0;         // in this window
  double longest_before_ = 0;  // in the one before
  Clock::time_point began_{};
};

}  // namespace ioc_exporter::app
