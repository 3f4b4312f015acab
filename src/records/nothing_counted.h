// NothingCounted: whether an IOC works, and the probes on it see nothing of it: something is wrong
// with them, or with what the exporter believes of the IOC. Pure.
#pragma once

#include <chrono>
#include <cstdint>

namespace ioc_exporter::records {

class NothingCounted {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::minutes kLong{5};
  // Of one core: idle IOCs use less, for timers and beacons.
  static constexpr double kWorks = 0.01;

  // `entries`: hits of its probes so far; `cpu_ns`: CPU time of its process.
  bool update(Clock::time_point now, bool attached, std::uint64_t entries, std::uint64_t cpu_ns) {
    if (!attached || entries != entries_ || since_ == Clock::time_point{}) {
      since_ = now;
      entries_ = entries;
      cpu_ns_ = cpu_ns;
    }
    const std::chrono::duration<double, std::nano> passed = now - since_;
    return passed >= kLong &&
           static_cast<double>(cpu_ns) >= static_cast<double>(cpu_ns_) + passed.count() * kWorks;
  }

 private:
  Clock::time_point since_{};
  std::uint64_t entries_ = 0, cpu_ns_ = 0;  // then
};

}  // namespace ioc_exporter::records
