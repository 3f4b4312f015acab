// BasicAuth: users with bcrypt hashes, and a bound on the cost of password checks.
//
// A check takes some 70 ms of CPU at a cost of 10, by design. So a right
// password is remembered, and so are recent wrong ones; one check runs at a time; and after a wrong
// password the next check waits for four times as long as that one took. So guesses take a fifth of
// a core, and the number of threads that wait for their turn is bounded.
//
// All checks take the same time, for users that do not exist, too: that of the hash with the
// highest cost.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ioc_exporter::web {

// Whether `password` is the one of that bcrypt hash. Takes as long as the hash's cost says.
bool is_password(const std::string& password, const std::string& hash);

// Takes as long for equal texts as for others of their length.
bool equal_in_constant_time(std::string_view a, std::string_view b);

class BasicAuth {
 public:
  enum class Verdict { allowed, refused, busy };
  using Clock = std::chrono::steady_clock;
  using Check = bool (*)(const std::string& password, const std::string& hash);

  // One more of an address that has none yet waits beyond the first of these, up to the last.
  static constexpr std::size_t kMostWaiting = 8;
  static constexpr std::size_t kMostWaitingOfOne = 4;
  static constexpr std::size_t kMostWaitingAtAll = 32;

  // `users`: name -> hash. None: all are allowed.
  explicit BasicAuth(std::map<std::string, std::string> users, Check check = is_password);

  bool asks() const { return !users_.empty(); }
  // User of that password, if known already.
  std::optional<std::string> known_user(const std::string& authorization) const;
  // `authorization`: the header's value, "" = none was sent. Waits at most `patience` for its turn;
  // then it is `busy`, as it is at once when as many wait as may, of all addresses or of `from`.
  // Local addresses count as one, and so do those of an IPv6 network: one client may have them all.
  // May be called by several threads.
  Verdict judge(const std::string& authorization, const std::string& from = "",
                std::chrono::milliseconds patience = std::chrono::seconds(2));

  // Hashes that were computed.
  std::uint64_t checks() const;
  // Callers that wait for their turn, or have it.
  std::size_t waiting() const;

 private:
  enum class Known { right, wrong, nothing };

  class Waiting;

  Verdict check_in_turn(const std::string& authorization, const std::string& user,
                        const std::string& password, Clock::time_point give_up);
  Known known(const std::string& user, const std::string& authorization) const;
  void learn(const std::string& user, const std::string& authorization, bool right);

  std::map<std::string, std::string> users_;
  Check check_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> right_;  // user -> the whole header
  std::deque<std::string> wrong_;             // whole headers, the latest at the end
  std::uint64_t checks_ = 0;
  std::multiset<std::string> waiting_;  // addresses
  std::string dearest_;                 // of the users' hashes, the one of the highest cost
  std::timed_mutex turn_;
  Clock::time_point next_check_{};  // guarded by turn_
};

}  // namespace ioc_exporter::web
