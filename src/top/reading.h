// Values that top takes from a scrape, and their growth from one to the next.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/command_line.h"
#include "base/metric_lines.h"
#include "base/result.h"

namespace ioc_exporter::top {

enum class Family : std::uint8_t {
  record_calls,
  record_self,
  ioc_up,
  ioc_cpu,
  ioc_calls,
  ioc_memory,
  circuits,
  puts,
};
inline constexpr std::size_t kFamilies = 8;

// The labels of a series that tell it from others of its family, in the family's order.
using Labels = std::vector<std::string>;

struct Value {
  Labels labels;
  double value = 0;
};

// The names of the families, as series have them.
std::set<std::string, std::less<>> family_names();

class Reading {
 public:
  using Clock = std::chrono::steady_clock;
  // More series than these are left out: a host with so many is not looked at by eye.
  static constexpr std::size_t kMostSeries = 400'000;

  explicit Reading(Clock::time_point time = {}, std::size_t most = kMostSeries)
      : time_(time), most_(most) {}

  void take(const MetricLine& series);
  std::uint64_t left_out() const { return left_out_; }
  // Of a gauge.
  std::vector<Value> values(Family family) const;
  // How fast a counter of `before` has grown, a second. One that shrank has begun anew, at 0; so
  // has one that was not there, but for those that were counted before the exporter saw them.
  std::vector<Value> rates(Family family, const Reading& before) const;

 private:
  Clock::time_point time_;
  std::size_t most_, count_ = 0;
  std::uint64_t left_out_ = 0;
  // By their labels' values, joined.
  std::array<std::unordered_map<std::string, double>, kFamilies> series_;
};

// Asks a running exporter for one.
Result<Reading> fetch_reading(const CommandLine& line);

// Fetcher: asks in a thread of its own; the keyboard is read meanwhile.
class Fetcher {
 public:
  explicit Fetcher(const CommandLine& line);
  // Waits for no answer: a scrape that is under way ends in a thread that has all it needs.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Can be read when there is a reading, or an error.
  int ready_fd() const;
  // Nothing while one is under way.
  void begin();
  bool under_way() const;
  // Nothing: it is not ready.
  std::optional<Result<Reading>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ioc_exporter::top
