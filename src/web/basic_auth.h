// BasicAuth: users with bcrypt hashes, and what their passwords may cost.
//
// A check takes some 70 ms of CPU at a cost of 10, by design. So what was right once is known from
// then on, as is what was wrong lately; one check runs at a time; and after a wrong password the
// next check waits for four times as long as that one took. Whoever guesses gets a fifth of a core.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
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

  // `users`: name -> hash. None: all are allowed.
  explicit BasicAuth(std::map<std::string, std::string> users, Check check = is_password)
      : users_(std::move(users)), check_(check) {}

  // `authorization`: the header's value, "" = none was sent. Waits at most `patience` for its turn;
  // then it is `busy`. May be called by several threads.
  Verdict judge(const std::string& authorization,
                std::chrono::milliseconds patience = std::chrono::seconds(2));

  // Hashes that were computed.
  std::uint64_t checks() const;

 private:
  enum class Known { right, wrong, nothing };

  Known known(const std::string& user, const std::string& authorization) const;
  void learn(const std::string& user, const std::string& authorization, bool right);

  std::map<std::string, std::string> users_;
  Check check_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> right_;  // user -> the whole header
  std::deque<std::string> wrong_;             // whole headers, the latest at the end
  std::uint64_t checks_ = 0;
  std::timed_mutex turn_;
  Clock::time_point next_check_{};  // guarded by turn_
};

}  // namespace ioc_exporter::web
