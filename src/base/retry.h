// Retry: when to try again what failed, and whether the failure is worth a line in the log.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

namespace ioc_exporter {

// Not thread-safe.
class Retry {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstPause{500};  // doubled with each failure
  static constexpr std::chrono::milliseconds kLongestPause{30'000};

  explicit Retry(Clock::time_point first = {}) : next_(first) {}

  bool is_due(Clock::time_point now) const { return now >= next_; }

  // Not before `next` again.
  void succeeded(Clock::time_point next = {}) {
    failures_ = 0;
    next_ = next;
  }
  // True: log it. What is read while it changes fails now and then, so only the second failure in a
  // row is worth a line, and the same text only once.
  bool failed(Clock::time_point now, const std::string& problem) {
    const bool is_news = failures_ > 0 && problem != logged_;
    if (is_news) logged_ = problem;
    next_ = now + std::min(kLongestPause, kFirstPause * (1 << std::min(failures_, 6u)));
    ++failures_;
    return is_news;
  }

 private:
  unsigned failures_ = 0;  // in a row
  Clock::time_point next_;
  std::string logged_;
};

}  // namespace ioc_exporter
