#include "web/access.h"

#include <algorithm>
#include <utility>

#include "web/message.h"

namespace ioc_exporter::web {
namespace {

Admission refusal(int status, const char* reason, const char* text) {
  return {.refusal = refused(status, reason, text)};
}

}  // namespace

Access::Rules::Rules(WebConfig given)
    : config(std::move(given)), auth(std::make_shared<BasicAuth>(config.users)) {
  if (config.rate_limit) limits.emplace(*config.rate_limit);
}

Access::Access(WebConfig rules) : rules_(std::make_shared<Rules>(std::move(rules))) {}

void Access::use(WebConfig rules) {
  auto fresh = std::make_shared<Rules>(std::move(rules));
  const std::scoped_lock lock(mutex_);
  if (fresh->config.users == rules_->config.users) fresh->auth = rules_->auth;
  rules_ = std::move(fresh);
}

std::shared_ptr<Access::Rules> Access::rules() const {
  const std::scoped_lock lock(mutex_);
  return rules_;
}

Admission Access::admit(const Request& request) {
  const auto now = rules();
  auto user = now->auth->known_user(request.authorization);
  if (now->limits) {
    const std::scoped_lock lock(now->mutex);
    if (!now->limits->allows(holder_of(request.remote, user.value_or("")), RateLimit::Clock::now()))
      return refusal(429, "rate_limit",
                     "more requests than rate_limit of --web.config.file allows");
  }
  if (user) return {.user = std::move(*user)};
  switch (now->auth->judge(request.authorization, request.remote)) {
    case BasicAuth::Verdict::allowed:
      return {.user = now->auth->known_user(request.authorization).value_or("")};
    case BasicAuth::Verdict::busy:
      return refusal(503, "password_turn", "other passwords are being checked: try again");
    case BasicAuth::Verdict::refused:
      break;
  }
  Admission answer = refusal(401, "password", "a user and a password are needed");
  answer.refusal->headers["WWW-Authenticate"] = "Basic realm=\"ioc_exporter\", charset=\"UTF-8\"";
  return answer;
}

std::map<std::string, std::string> Access::headers() const {
  return rules()->config.headers;
}

namespace {

// Twice this value still fits into a number of nanoseconds.
constexpr std::chrono::hours kLongest(100 * 365 * 24);

}  // namespace

RateLimit::RateLimit(const WebConfig::RateLimit& limit)
    : interval_(std::min<std::chrono::milliseconds>(limit.interval, kLongest)),
      most_(limit.burst > static_cast<std::uint64_t>(kLongest / interval_)
                ? kLongest
                : interval_ * static_cast<std::int64_t>(limit.burst)),
      saved_(most_) {}

std::chrono::nanoseconds RateLimit::saved_at(Clock::time_point now) const {
  if (!last_ || now <= *last_) return saved_;
  return std::min(most_, saved_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      std::min<Clock::duration>(now - *last_, most_)));
}

bool RateLimit::allows(Clock::time_point now) {
  saved_ = saved_at(now);
  last_ = now;
  if (saved_ < interval_) return false;
  saved_ -= interval_;
  return true;
}

bool RateLimits::allows(const std::string& holder, RateLimit::Clock::time_point now) {
  auto found = holders_.find(holder);
  if (found == holders_.end()) {
    if (holders_.size() >= kMostHolders)
      std::erase_if(holders_, [now](const auto& one) { return one.second.is_full(now); });
    if (holders_.size() >= kMostHolders && !is_user(holder)) return rest_.allows(now);
    found = holders_.emplace(holder, RateLimit(limit_)).first;
  }
  return found->second.allows(now);
}

}  // namespace ioc_exporter::web
