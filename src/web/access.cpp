#include "web/access.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::web {
namespace {

// Two of them are less than a number of nanoseconds can be.
constexpr std::chrono::hours kLongest(100 * 365 * 24);

Response refusal(int status, const char* text) {
  Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + text + "\n";
  return response;
}

}  // namespace

RateLimit::RateLimit(const WebConfig::RateLimit& limit)
    : interval_(std::min<std::chrono::milliseconds>(limit.interval, kLongest)),
      most_(limit.burst > static_cast<std::uint64_t>(kLongest / interval_)
                ? kLongest
                : interval_ * static_cast<std::int64_t>(limit.burst)),
      saved_(most_) {}

bool RateLimit::allows(Clock::time_point now) {
  if (last_ && now > *last_)
    saved_ = std::min(most_, saved_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::min<Clock::duration>(now - *last_, most_)));
  last_ = now;
  if (saved_ < interval_) return false;
  saved_ -= interval_;
  return true;
}

Access::Rules::Rules(WebConfig given)
    : config(std::move(given)), auth(std::make_shared<BasicAuth>(config.users)) {
  if (config.rate_limit) limit.emplace(*config.rate_limit);
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

std::optional<Response> Access::refuse(const Request& request) {
  const auto now = rules();
  if (now->limit) {
    const std::scoped_lock lock(now->mutex);
    if (!now->limit->allows(RateLimit::Clock::now()))
      return refusal(429, "more requests than rate_limit of --web.config.file allows");
  }
  switch (now->auth->judge(request.authorization)) {
    case BasicAuth::Verdict::allowed:
      return std::nullopt;
    case BasicAuth::Verdict::busy:
      return refusal(503, "other passwords are being checked: try again");
    case BasicAuth::Verdict::refused:
      break;
  }
  Response response = refusal(401, "a user and a password are needed");
  response.headers["WWW-Authenticate"] = "Basic realm=\"ioc_exporter\", charset=\"UTF-8\"";
  return response;
}

std::map<std::string, std::string> Access::headers() const {
  return rules()->config.headers;
}

}  // namespace ioc_exporter::web
