#include "web/access.h"

#include <utility>

#include "web/answers.h"

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

}  // namespace ioc_exporter::web
