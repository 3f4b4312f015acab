// LogBound: how many lines of a kind go into the log in a minute, where others decide how many
// there are. Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace ioc_exporter {

class LogBound {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::minutes kWindow{1};

  explicit LogBound(std::uint64_t most) : most_(most) {}

  // May one more be written?
  bool allows(Clock::time_point now) {
    if (now >= end_) {
      end_ = now + kWindow;
      unsaid_ += std::exchange(over_, 0);
      lines_ = 0;
    }
    if (lines_ < most_) {
      ++lines_;
      return true;
    }
    ++over_;
    return false;
  }
  // How many were left out in the minutes before, since the last call.
  std::uint64_t take_left_out() { return std::exchange(unsaid_, 0); }

 private:
  std::uint64_t most_;
  Clock::time_point end_{};
  std::uint64_t lines_ = 0;
  std::uint64_t over_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace ioc_exporter
