// Access: who is let in, how often, and which headers every answer has: the rules of
// --web.config.file, which may be exchanged while the server runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "web/basic_auth.h"
#include "web/message.h"
#include "web/rate_limits.h"
#include "web/web_config.h"

namespace ioc_exporter::web {

class Access {
 public:
  explicit Access(WebConfig rules = {});

  // Passwords that are known to be right stay known while the users stay the same.
  void use(WebConfig rules);
  // In any thread.
  Admission admit(const Request& request);
  std::map<std::string, std::string> headers() const;

 private:
  struct Rules {
    explicit Rules(WebConfig given);
    WebConfig config;
    std::shared_ptr<BasicAuth> auth;
    std::mutex mutex;  // of the limits
    std::optional<RateLimits> limits;
  };
  std::shared_ptr<Rules> rules() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Rules> rules_;
};

}  // namespace ioc_exporter::web
