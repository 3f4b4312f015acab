#include "web/rate_limits.h"

#include <algorithm>

namespace ioc_exporter::web {
namespace {

// Two of them are less than a number of nanoseconds can be.
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
