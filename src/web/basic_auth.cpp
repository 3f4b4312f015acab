#include "web/basic_auth.h"

#include <crypt.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/base64.h"

namespace ioc_exporter::web {
namespace {

constexpr std::size_t kWrongKept = 64;
constexpr std::size_t kLongestKept = 1024;  // bytes of a header
constexpr int kRestFactor = 4;
constexpr std::chrono::seconds kLongestRest{1};

struct Credentials {
  std::string user, password;
};

bool is_basic(std::string_view scheme) {
  return scheme.size() == 6 &&
         std::ranges::equal(scheme, std::string_view("basic "), {}, [](char c) {
           return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
         });
}

std::optional<Credentials> parse(std::string_view authorization) {
  if (authorization.size() < 6 || !is_basic(authorization.substr(0, 6))) return std::nullopt;
  authorization.remove_prefix(6);
  while (!authorization.empty() && authorization.front() == ' ') authorization.remove_prefix(1);
  const auto text = decode_base64(authorization);
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{text->substr(0, colon), text->substr(colon + 1)};
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

BasicAuth::Known BasicAuth::known(const std::string& user, const std::string& authorization) const {
  const std::scoped_lock lock(mutex_);
  const auto right = right_.find(user);
  if (right != right_.end() && equal_in_constant_time(right->second, authorization))
    return Known::right;
  if (std::ranges::find(wrong_, authorization) != wrong_.end()) return Known::wrong;
  return Known::nothing;
}

void BasicAuth::learn(const std::string& user, const std::string& authorization, bool right) {
  const std::scoped_lock lock(mutex_);
  ++checks_;
  if (right) {
    right_[user] = authorization;
    return;
  }
  if (authorization.size() > kLongestKept) return;
  if (wrong_.size() == kWrongKept) wrong_.pop_front();
  wrong_.push_back(authorization);
}

std::uint64_t BasicAuth::checks() const {
  const std::scoped_lock lock(mutex_);
  return checks_;
}

BasicAuth::Verdict BasicAuth::judge(const std::string& authorization,
                                    std::chrono::milliseconds patience) {
  if (users_.empty()) return Verdict::allowed;
  const auto credentials = parse(authorization);
  if (!credentials) return Verdict::refused;
  const auto give_up = Clock::now() + patience;
  const auto answer = [](Known known) {
    return known == Known::right ? Verdict::allowed : Verdict::refused;
  };
  if (const Known is = known(credentials->user, authorization); is != Known::nothing)
    return answer(is);
  const std::unique_lock turn(turn_, give_up);
  if (!turn) return Verdict::busy;
  // Whoever had the turn before may have brought the same.
  if (const Known is = known(credentials->user, authorization); is != Known::nothing)
    return answer(is);
  if (next_check_ > give_up) return Verdict::busy;
  std::this_thread::sleep_until(next_check_);

  // For an unknown user the same is done, so that the time does not tell who is known.
  const auto user = users_.find(credentials->user);
  const std::string& hash = user != users_.end() ? user->second : users_.begin()->second;
  const auto began = Clock::now();
  const bool right = check_(credentials->password, hash) && user != users_.end();
  const auto done = Clock::now();
  if (!right)
    next_check_ = done + std::min<Clock::duration>((done - began) * kRestFactor, kLongestRest);
  learn(credentials->user, authorization, right);
  return right ? Verdict::allowed : Verdict::refused;
}

}  // namespace ioc_exporter::web
