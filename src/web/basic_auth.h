// BasicAuth: users with bcrypt hashes.
//
// A check takes some 70 ms of CPU at a cost of 10, by design. So one runs at a time, and its result
// is remembered: of each user the right password, and recent wrong ones. A user that does not exist
// costs a check, too, by the hash of the first one: where all hashes have the same cost, the time
// of an answer does not show who exists.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ioc_exporter::web {

// Whether `password` is the one of that bcrypt hash. Takes as long as the hash's cost says.
bool is_password(const std::string& password, const std::string& hash);

// Takes as long for equal texts as for others of their length.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// In any thread.
class BasicAuth {
 public:
  using Check = bool (*)(const std::string& password, const std::string& hash);

  // `users`: name -> hash. None: all are let in.
  explicit BasicAuth(std::map<std::string, std::string> users, Check check = is_password)
      : users_(std::move(users)), check_(check) {}

  // Whether user_of() answers at once. `authorization`: the header's value, "" = none was sent.
  bool knows(const std::string& authorization) const;
  // Whose password it is, "" where no users are; nothing: he is not let in.
  std::optional<std::string> user_of(const std::string& authorization);

 private:
  // Whether it is right; nothing: it was not checked lately.
  std::optional<bool> known(const std::string& user, const std::string& authorization) const;
  bool judge(const std::string& user, const std::string& password,
             const std::string& authorization);

  const std::map<std::string, std::string> users_;
  const Check check_;
  std::mutex turn_;  // of checks
  mutable std::mutex mutex_;
  std::map<std::string, std::string> right_;  // user -> the whole header
  std::deque<std::string> wrong_;             // whole headers, the latest at the end
};

}  // namespace ioc_exporter::web
