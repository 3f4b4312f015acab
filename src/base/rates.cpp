#include "base/rates.h"

#include <utility>

namespace ioc_exporter {

std::map<std::string, double> Rates::of(Counts counts, Clock::time_point now) {
  std::map<std::string, double> rates;
  const std::scoped_lock lock(mutex_);
  if (last_ && now - last_->time >= kShortest) before_ = std::exchange(last_, std::nullopt);
  if (before_ && now - before_->time > kLongest) before_.reset();
  if (before_) {
    const double seconds = std::chrono::duration<double>(now - before_->time).count();
    for (const auto& [name, count] : counts) {
      const auto then = before_->counts.find(name);
      if (then == before_->counts.end()) continue;
      // A counter that went back is another process': it began anew.
      const std::uint64_t grown = count >= then->second ? count - then->second : count;
      rates[name] = static_cast<double>(grown) / seconds;
    }
  }
  if (!last_) last_ = Counted{now, std::move(counts)};
  return rates;
}

}  // namespace ioc_exporter
