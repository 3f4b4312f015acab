// ReaderBudget: decides which processes may be read now. Pure: time is a parameter.
//
// A process whose reading did not end in time is not read for a second (a process in the middle of
// an exec on a busy host does not answer either), then for twice as long each time. What readings
// of a user's processes take is charged to an account, which fills up with time: when it is
// overdrawn, that user's processes wait.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace ioc_exporter::iocs {

class ReaderBudget {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kAccount{5};  // at most
  static constexpr double kIncome = 0.2;              // of the time that goes by
  static constexpr std::chrono::seconds kFirstRest{1};
  static constexpr std::chrono::seconds kLongestRest{3600};
  static constexpr std::chrono::seconds kForgiven{60};  // after so long without another hang

  bool is_resting(pid_t pid, Clock::time_point now) const;
  bool is_overdrawn(uid_t user, Clock::time_point now);
  void charge(uid_t user, std::chrono::nanoseconds time, Clock::time_point now);
  // A reading of that process did not end in time.
  void note_hang(pid_t pid, Clock::time_point now);
  // Processes that rest.
  std::size_t resting(Clock::time_point now) const;

 private:
  struct Rest {
    Clock::time_point until;
    std::chrono::seconds next = kFirstRest;
  };
  struct Account {
    std::chrono::nanoseconds left = kAccount;
    Clock::time_point filled;
  };

  Account& account(uid_t user, Clock::time_point now);
  void forget(Clock::time_point now);

  std::map<pid_t, Rest> resting_;
  std::map<uid_t, Account> accounts_;
};

}  // namespace ioc_exporter::iocs
