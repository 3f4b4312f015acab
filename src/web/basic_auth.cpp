#include "web/basic_auth.h"

#include <crypt.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <absl/strings/escaping.h>

#include "base/ascii.h"

namespace ioc_exporter::web {
namespace {

constexpr std::size_t kWrongKept = 64;
constexpr std::size_t kLongestKept = 1024;  // bytes of a header

bool is_basic(std::string_view scheme) {
  return scheme.size() == 6 && std::ranges::equal(scheme, std::string_view("basic "), {}, lower);
}

struct Credentials {
  std::string user, password;
};

std::optional<Credentials> parse(std::string_view authorization) {
  if (authorization.size() < 6 || !is_basic(authorization.substr(0, 6))) return std::nullopt;
  authorization.remove_prefix(6);
  while (!authorization.empty() && authorization.front() == ' ') authorization.remove_prefix(1);
  std::string text;
  if (!absl::Base64Unescape({authorization.data(), authorization.size()}, &text))
    return std::nullopt;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

bool is_password(const std::string& password, const std::string& hash) {
  if (password.find('\0') != std::string::npos) return false;  // crypt() would see a shorter one
  const auto data = std::make_unique<crypt_data>();            // 32 KiB
  const char* const made = ::crypt_r(password.c_str(), hash.c_str(), data.get());
  return made != nullptr && made[0] != '*' && equal_in_constant_time(made, hash);
}

std::optional<bool> BasicAuth::known(const std::string& user,
                                     const std::string& authorization) const {
  const std::scoped_lock lock(mutex_);
  const auto right = right_.find(user);
  if (right != right_.end() && equal_in_constant_time(right->second, authorization)) return true;
  if (std::ranges::find(wrong_, authorization) != wrong_.end()) return false;
  return std::nullopt;
}

bool BasicAuth::knows(const std::string& authorization) const {
  if (users_.empty()) return true;
  const auto credentials = parse(authorization);
  return !credentials || known(credentials->user, authorization);
}

std::optional<std::string> BasicAuth::user_of(const std::string& authorization) {
  if (users_.empty()) return "";
  const auto credentials = parse(authorization);
  if (!credentials) return std::nullopt;
  auto right = known(credentials->user, authorization);
  if (!right) right = judge(credentials->user, credentials->password, authorization);
  return *right ? std::optional(credentials->user) : std::nullopt;
}

bool BasicAuth::judge(const std::string& user, const std::string& password,
                      const std::string& authorization) {
  const std::scoped_lock turn(turn_);
  // The client of the turn before may have brought the same password.
  if (const auto right = known(user, authorization)) return *right;
  const auto found = users_.find(user);
  const bool exists = found != users_.end();
  const std::string& hash = exists ? found->second : users_.begin()->second;
  const bool right = check_(password, hash) && exists;

  const std::scoped_lock lock(mutex_);
  if (right) {
    right_[user] = authorization;
  } else if (authorization.size() <= kLongestKept) {
    if (wrong_.size() == kWrongKept) wrong_.pop_front();
    wrong_.push_back(authorization);
  }
  return right;
}

}  // namespace ioc_exporter::web
