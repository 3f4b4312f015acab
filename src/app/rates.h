// Rates: how often something happens now, from counters of snapshots that were taken one after the
// other. For the page at "/": Prometheus makes its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/samples.h"

namespace ioc_exporter::app {

// Of one IOC, per second.
struct IocRates {
  std::optional<double> processed;  // records; none while they are not counted
  double puts = 0;                  // over Channel Access
};

using IocRatesByName = std::map<std::string, IocRates>;

class Rates {
 public:
  using Clock = std::chrono::steady_clock;
  // Shorter spans are too coarse, longer ones are no "now".
  static constexpr std::chrono::milliseconds kShortest{1000};
  static constexpr std::chrono::minutes kLongest{10};

  // Since an earlier snapshot of kShortest ago or more; an IOC that was not in it has none. In any
  // thread.
  IocRatesByName of(const Snapshot& snapshot, Clock::time_point now);

 private:
  struct Counts {
    std::optional<std::uint64_t> processed;
    std::uint64_t puts = 0;
  };
  struct Look {
    Clock::time_point time;
    std::map<std::string, Counts> counts;
  };

  static std::map<std::string, Counts> counts_of(const Snapshot& snapshot);

  std::mutex mutex_;
  std::optional<Look> before_;  // what rates are made from
  std::optional<Look> last_;    // becomes that when it is old enough
};

}  // namespace ioc_exporter::app
