// Rates: how often something happens now, from counters that were read one time after the other.
// For the page at "/": Prometheus makes its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace ioc_exporter {

class Rates {
 public:
  using Clock = std::chrono::steady_clock;
  using Counts = std::map<std::string, std::uint64_t>;  // by name
  // Shorter spans are too coarse, longer ones are no "now".
  static constexpr std::chrono::milliseconds kShortest{1000};
  static constexpr std::chrono::minutes kLongest{10};

  // Per second, since earlier counts of kShortest ago or more; what was not in them has none. In
  // any thread.
  std::map<std::string, double> of(Counts counts, Clock::time_point now = Clock::now());

 private:
  struct Counted {
    Clock::time_point time;
    Counts counts;
  };

  std::mutex mutex_;
  std::optional<Counted> before_;  // base of the rates
  std::optional<Counted> last_;    // becomes that when it is old enough
};

}  // namespace ioc_exporter
