// Reading: one request that a reader process works on. Its asker may wait for the answer, or come
// back later.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "iocs/memory/reader_wire.h"

namespace ioc_exporter::iocs {

// A reader process: the exporter's end of its socket, and the process by descriptor and number.
struct Reader {
  UniqueFd socket;
  UniqueFd process;
  pid_t pid = 0;
};

// The process that is read, and its user, looked up before the reading: a process that has ended
// has none, and its reading could not be charged.
struct ReadProcess {
  pid_t pid = 0;
  uid_t user = 0;
};

class Reading {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    // How long the reader may sleep. Time in which it waits for a CPU does not count.
    std::chrono::milliseconds asleep{};
    // In all.
    std::chrono::milliseconds longest{};
  };
  struct Times {
    std::chrono::nanoseconds waited{0};  // by the asker
    std::chrono::nanoseconds slept{0};   // by the reader
  };
  struct Answer {
    std::string bytes;
    UniqueFd fd;
  };

  // `what` is for messages.
  Reading(Reader reader, const ReadProcess& of, const Limits& limits, std::string what)
      : reader_(std::move(reader)), of_(of), limits_(limits), what_(std::move(what)) {}

  // False: the reader is gone.
  bool ask(const ReaderRequest& request, std::string_view payload, int fd) {
    return send_message(reader_.socket.get(), request, payload, fd);
  }
  // Waits until it is over, or `enough` says so. True: it is over.
  bool wait(const RootedFs& fs, const std::function<bool()>& enough);
  // It is over, with this error.
  void fail(Error error) { answer_ = Result<Answer>(std::move(error)); }

  bool is_over() const { return is_late_ || answer_.has_value(); }
  // The reader did not answer in time.
  bool is_late() const { return is_late_; }
  // Once it is over, and not late.
  const Result<Answer>& answer() const { return *answer_; }
  Result<Answer> take_answer() { return std::move(*answer_); }
  Reader& reader() { return reader_; }
  const ReadProcess& of() const { return of_; }
  const std::string& what() const { return what_; }
  const Limits& limits() const { return limits_; }
  const Times& times() const { return times_; }
  // Time that the caller waited, and the reader's CPU time while no caller waited.
  std::chrono::nanoseconds cost() const;

 private:
  void receive_piece();
  void check_reader(const RootedFs& fs);

  Reader reader_;
  ReadProcess of_;
  Limits limits_;
  std::string what_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_check_ = began_;
  Times times_;
  std::optional<std::uint64_t> ticks_when_left_;  // CPU time of the reader when the asker left
  std::uint64_t ticks_ = 0;
  Answer pieces_;
  unsigned received_ = 0;
  std::optional<Result<Answer>> answer_;
  bool is_late_ = false;
};

// ReaderBudget: decides which processes may be read now. Pure: time is a parameter.
//
// A process whose reading did not end in time is not read for a second (a process in the middle of
// an exec on a busy host does not answer either), then for twice as long each time. What readings
// of a user's processes take is charged to an account, which fills up with time: when it is
// overdrawn, that user's processes wait.
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
