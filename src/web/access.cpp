#include "web/access.h"

#include <utility>

namespace ioc_exporter::web {

Access::Access(WebConfig rules)
    : rules_(std::move(rules)), auth_(std::make_shared<BasicAuth>(rules_.users)) {}

void Access::use(WebConfig rules) {
  const std::scoped_lock lock(mutex_);
  if (rules.users != rules_.users) auth_ = std::make_shared<BasicAuth>(rules.users);
  rules_ = std::move(rules);
}

std::shared_ptr<BasicAuth> Access::auth() const {
  const std::scoped_lock lock(mutex_);
  return auth_;
}

bool Access::knows(const Request& request) const {
  return auth()->knows(request.authorization);
}

Admission Access::admit(const Request& request) const {
  auto user = auth()->user_of(request.authorization);
  if (user) return {.user = std::move(*user)};
  Admission answer{.refusal = refused(401, "password", "a user and a password are needed")};
  answer.refusal->headers["WWW-Authenticate"] = "Basic realm=\"ioc_exporter\", charset=\"UTF-8\"";
  return answer;
}

std::map<std::string, std::string> Access::headers() const {
  const std::scoped_lock lock(mutex_);
  return rules_.headers;
}

}  // namespace ioc_exporter::web
