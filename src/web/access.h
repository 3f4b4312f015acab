// Access: who is let in, how often, and which headers every answer has: the rules of
// --web.config.file, which may be exchanged while the server runs.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "web/basic_auth.h"
#include "web/message.h"
#include "web/web_config.h"

namespace ioc_exporter::web {

// So many requests at once, and one more each interval: a token bucket.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;
  explicit RateLimit(const WebConfig::RateLimit& limit);

  bool allows(Clock::time_point now);

 private:
  std::chrono::nanoseconds interval_;
  std::chrono::nanoseconds most_;   // that may be saved up
  std::chrono::nanoseconds saved_;  // a request costs an interval
  std::optional<Clock::time_point> last_;
};

class Access {
 public:
  explicit Access(WebConfig rules = {});

  // Passwords that are known to be right stay known while the users stay the same.
  void use(WebConfig rules);
  // What to answer instead of the page; nothing: the request is let in. In any thread.
  std::optional<Response> refuse(const Request& request);
  std::map<std::string, std::string> headers() const;

 private:
  struct Rules {
    explicit Rules(WebConfig given);
    WebConfig config;
    std::shared_ptr<BasicAuth> auth;
    std::mutex mutex;  // of the limit
    std::optional<RateLimit> limit;
  };
  std::shared_ptr<Rules> rules() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Rules> rules_;
};

}  // namespace ioc_exporter::web
