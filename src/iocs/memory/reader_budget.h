// ReaderBudget: whose processes may be read now. Pure: it is told the time.
//
// A process that did not answer is left alone, first for a second, since one that is in the middle
// of an exec on a busy host does not answer either, then for twice as long each time. What readings
// of a user's processes and files took is taken from his account, which fills up with time: when it
// is overdrawn he waits. And who has made readers hang that cannot be ended gets no more than a
// few.
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
  static constexpr unsigned kMostStuckOfUser = 4;
  static constexpr unsigned kMostStuck = 64;

  enum class Verdict { go, resting, overdrawn, stuck };

  Verdict judge(pid_t pid, uid_t user, Clock::time_point now);
  void charge(uid_t user, std::chrono::nanoseconds time, Clock::time_point now);
  // A reading did not end in time. `stuck`: nor did its reader, when it was killed.
  void note_hang(pid_t pid, uid_t user, bool stuck, Clock::time_point now);
  // So many readers are stuck now: with none, nobody is to blame any more.
  void note_stuck(unsigned count);

  std::size_t left_alone(Clock::time_point now) const;

 private:
  struct Rest {
    Clock::time_point until;
    std::chrono::seconds next = kFirstRest;
  };
  struct Account {
    std::chrono::nanoseconds left = kAccount;
    Clock::time_point filled;
    unsigned stuck = 0;
  };

  Account& account(uid_t user, Clock::time_point now);
  void forget(Clock::time_point now);

  std::map<pid_t, Rest> resting_;
  std::map<uid_t, Account> accounts_;
  unsigned stuck_ = 0;
};

}  // namespace ioc_exporter::iocs
