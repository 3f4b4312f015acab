// ReadingRests: which processes are not read now. Pure: time is a parameter.
//
// A process whose reading did not end in time is not read for a second (a process in the middle of
// an exec on a busy host does not answer either), then for twice as long each time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>

namespace ioc_exporter::iocs {

class ReadingRests {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kFirstRest{1};
  static constexpr std::chrono::seconds kLongestRest{3600};
  static constexpr std::chrono::seconds kForgiven{60};  // after so long without another hang

  bool is_resting(pid_t pid, Clock::time_point now) const;
  // A reading of that process did not end in time.
  void note_hang(pid_t pid, Clock::time_point now);
  // The process with that number has ended, and another one has it.
  void forget(pid_t pid) { resting_.erase(pid); }
  // Processes that rest.
  std::size_t resting(Clock::time_point now) const;

 private:
  struct Rest {
    Clock::time_point until;
    std::chrono::seconds next = kFirstRest;
  };

  std::map<pid_t, Rest> resting_;
};

}  // namespace ioc_exporter::iocs
