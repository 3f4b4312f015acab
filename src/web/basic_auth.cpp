#include "web/basic_auth.h"

#include <crypt.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <absl/strings/escaping.h>

#include "base/ascii.h"
#include "web/message.h"

namespace ioc_exporter::web {
namespace {

constexpr std::size_t kWrongKept = 64;
constexpr std::size_t kLongestKept = 1024;  // bytes of a header
constexpr int kRestFactor = 4;
constexpr std::chrono::seconds kLongestRest{1};

BasicAuth::Verdict verdict(bool right) {
  return right ? BasicAuth::Verdict::allowed : BasicAuth::Verdict::refused;
}

// Of "$2b$10$...": 10. A hash of another form costs 0.
int cost_of(const std::string& hash) {
  if (hash.size() < 6 || hash[0] != '$') return 0;
  return (hash[4] - '0') * 10 + (hash[5] - '0');
}

std::string with_cost(std::string hash, int cost) {
  hash[4] = static_cast<char>('0' + cost / 10);
  hash[5] = static_cast<char>('0' + cost % 10);
  return hash;
}

struct Credentials {
  std::string user, password;
};

bool is_basic(std::string_view scheme) {
  return scheme.size() == 6 && std::ranges::equal(scheme, std::string_view("basic "), {}, lower);
}

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

BasicAuth::BasicAuth(std::map<std::string, std::string> users, Check check)
    : users_(std::move(users)), check_(check) {
  for (const auto& [user, hash] : users_)
    if (dearest_.empty() || cost_of(hash) > cost_of(dearest_)) dearest_ = hash;
}

// Has a place among those that wait for their turn, or not.
class BasicAuth::Waiting {
 public:
  Waiting(BasicAuth& auth, const std::string& from) : auth_(auth), from_(place_of(from)) {
    const std::scoped_lock lock(auth_.mutex_);
    const std::size_t own = auth_.waiting_.count(from_);
    has_place_ = own < kMostWaitingOfOne &&
                 auth_.waiting_.size() < (own == 0 ? kMostWaitingAtAll : kMostWaiting);
    if (has_place_) auth_.waiting_.insert(from_);
  }
  ~Waiting() {
    if (!has_place_) return;
    const std::scoped_lock lock(auth_.mutex_);
    auth_.waiting_.erase(auth_.waiting_.find(from_));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  bool has_place() const { return has_place_; }

 private:
  BasicAuth& auth_;
  const std::string from_;
  bool has_place_ = false;
};

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

std::size_t BasicAuth::waiting() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

std::optional<std::string> BasicAuth::known_user(const std::string& authorization) const {
  auto credentials = parse(authorization);
  if (!credentials || known(credentials->user, authorization) != Known::right) return std::nullopt;
  return std::move(credentials->user);
}

BasicAuth::Verdict BasicAuth::judge(const std::string& authorization, const std::string& from,
                                    std::chrono::milliseconds patience) {
  if (users_.empty()) return Verdict::allowed;
  const auto credentials = parse(authorization);
  if (!credentials) return Verdict::refused;
  const auto give_up = Clock::now() + patience;
  if (const Known is = known(credentials->user, authorization); is != Known::nothing)
    return verdict(is == Known::right);
  const Waiting waiting(*this, from);
  if (!waiting.has_place()) return Verdict::busy;
  return check_in_turn(authorization, credentials->user, credentials->password, give_up);
}

BasicAuth::Verdict BasicAuth::check_in_turn(const std::string& authorization,
                                            const std::string& user, const std::string& password,
                                            Clock::time_point give_up) {
  const std::unique_lock turn(turn_, give_up);
  if (!turn) return Verdict::busy;
  // The client of the turn before may have brought the same password.
  if (const Known is = known(user, authorization); is != Known::nothing)
    return verdict(is == Known::right);
  if (next_check_ > give_up) return Verdict::busy;
  std::this_thread::sleep_until(next_check_);

  const auto found = users_.find(user);
  const std::string& hash = found != users_.end() ? found->second : dearest_;
  const auto began = Clock::now();
  const bool right = check_(password, hash) && found != users_.end();
  // A cost of c is 2^c rounds: with those of c, c + 1, ... it is as many as the dearest has.
  for (int cost = cost_of(hash); cost < cost_of(dearest_); ++cost)
    check_(password, with_cost(dearest_, cost));
  const auto done = Clock::now();
  if (!right)
    next_check_ = done + std::min<Clock::duration>((done - began) * kRestFactor, kLongestRest);
  learn(user, authorization, right);
  return verdict(right);
}

}  // namespace ioc_exporter::web
