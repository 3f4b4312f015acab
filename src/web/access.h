// Access: passwords, rate limits and headers of answers: the rules of --web.config.file, which may
// change while the server runs.
#pragma once

#include <chrono>
#include <cstddef>
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
  // Whether it has saved up the whole burst, as a new one has.
  bool is_full(Clock::time_point now) const { return saved_at(now) == most_; }

 private:
  std::chrono::nanoseconds saved_at(Clock::time_point now) const;

  std::chrono::nanoseconds interval_;
  std::chrono::nanoseconds most_;   // that may be saved up
  std::chrono::nanoseconds saved_;  // a request costs an interval
  std::optional<Clock::time_point> last_;
};

// Not thread-safe.
class RateLimits {
 public:
  static constexpr std::size_t kMostHolders = 1024;

  explicit RateLimits(const WebConfig::RateLimit& limit) : limit_(limit), rest_(limit) {}

  // `holder`: the user or address that asks. Beyond kMostHolders, further addresses share one
  // limit; users, who are few, keep their own.
  bool allows(const std::string& holder, RateLimit::Clock::time_point now);

 private:
  WebConfig::RateLimit limit_;
  RateLimit rest_;
  std::map<std::string, RateLimit> holders_;
};

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
