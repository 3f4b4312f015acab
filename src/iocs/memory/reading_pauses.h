// ReadingPauses: which processes are not read now. Pure: time is a parameter.
//
// A process whose reading did not end in time is not read for a second (a process in the middle of
// an exec on a busy host does not answer either), then for twice as long each time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>

namespace ioc_exporter::iocs {

class ReadingPauses {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{3600};
  static constexpr std::chrono::seconds kForgiven{60};  // after so long without another hang

  bool is_paused(pid_t pid, Clock::time_point now) const;
  // A reading of that process did not end in time.
  void note_hang(pid_t pid, Clock::time_point now);
  // The process with that number has ended, and another one has it.
  void forget(pid_t pid) { paused_.erase(pid); }
  // Processes that pause.
  std::size_t paused(Clock::time_point now) const;

 private:
  struct Pause {
    Clock::time_point until;
    std::chrono::seconds next = kFirstPause;
  };

  std::map<pid_t, Pause> paused_;
};

}  // namespace ioc_exporter::iocs
