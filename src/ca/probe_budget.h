// PutProbeBudget: what the probes on the put functions of an IOC's server cost it, and how long
// they stay off when that is more than it may be. Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace ioc_exporter::ca {

class PutProbeBudget {
 public:
  using Clock = std::chrono::steady_clock;
  // How long the probes stay off.
  static constexpr std::chrono::seconds kPause{60};
  // So many looks in a row over the budget, a second or more apart, take them off.
  static constexpr unsigned kLooksOver = 3;

  struct Over {
    double hits = 0;  // a second
    double cost = 0;  // fraction of one core
  };

  // The probes are on. `hits`: so far, as below.
  void begin(std::uint64_t hits, Clock::time_point now) {
    hits_before_ = hits;
    looked_ = now;
  }
  // While they are on. `budget`: fraction of one core, 0: no bound; `hit_seconds`: what a hit
  // costs. They are to be taken off when there is a result.
  std::optional<Over> look(std::uint64_t hits, double budget, double hit_seconds,
                           Clock::time_point now) {
    const double seconds = std::chrono::duration<double>(now - looked_).count();
    if (budget <= 0 || seconds < 1) return std::nullopt;
    const double rate = static_cast<double>(hits - hits_before_) / seconds;
    begin(hits, now);
    const double cost = rate * hit_seconds;
    over_ = cost > budget ? over_ + 1 : 0;
    if (over_ < kLooksOver) return std::nullopt;
    over_ = 0;
    paused_until_ = now + kPause;
    return Over{rate, cost};
  }
  bool pauses(Clock::time_point now) const { return now < paused_until_; }

 private:
  std::uint64_t hits_before_ = 0;
  unsigned over_ = 0;  // looks in a row
  Clock::time_point looked_{}, paused_until_{};
};

}  // namespace ioc_exporter::ca
