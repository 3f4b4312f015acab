// An IOC that is looked at in slices, simulated: what is shown of it, counted and estimated, must
// be what happened, on average over many runs, whatever its load.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "records/overhead_governor.h"
#include "records/pause_estimates.h"

namespace ioc_exporter::records {
namespace {

using Random = std::mt19937_64;
using Estimates = PauseEstimates<int>;
using Clock = OverheadGovernor::Clock;

constexpr double kBudget = 0.05;
constexpr HitCost kCost{1e-6, 2e-6};
constexpr double kStep = 1e-3;  // s

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<>(low, high)(random);
}

// Calls in each millisecond.
using Load = std::function<std::vector<unsigned>(Random& random, std::size_t steps)>;

std::vector<unsigned> steady(Random&, std::size_t steps) {
  return std::vector<unsigned>(steps, 40);
}

// All that is scanned ten times a second is processed at once.
std::vector<unsigned> scans(Random& random, std::size_t steps) {
  std::vector<unsigned> calls(steps, 0);
  const auto phase = static_cast<std::size_t>(uniform(random, 0, 100));
  for (std::size_t i = phase; i < steps; ++i) calls[i] = (i - phase) % 100 < 5 ? 800 : 0;
  return calls;
}

// Busy and idle by turns, of random lengths about these.
Load bursts(double busy_seconds, double idle_seconds, unsigned calls_when_busy) {
  return [=](Random& random, std::size_t steps) {
    std::vector<unsigned> calls;
    while (calls.size() < steps) {
      const double busy = uniform(random, 0, 2 * busy_seconds);
      const double idle = std::exponential_distribution<>(1 / idle_seconds)(random);
      calls.insert(calls.end(), static_cast<std::size_t>(busy / kStep), calls_when_busy);
      calls.insert(calls.end(), static_cast<std::size_t>(idle / kStep), 1);
    }
    calls.resize(steps);
    return calls;
  };
}

// As records/probe_limiter.cpp does it, in simulated time: to attach takes a while.
class Limiter {
 public:
  Limiter(Random& random, double attach_seconds)
      : random_(random),
        attach_seconds_(attach_seconds),
        governor_(kBudget, kCost, [this] { return uniform(random_, 0, 1); }) {
    governor_.look(at(0), {});
    read_due();
  }

  void run(const std::vector<unsigned>& calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      now_ = static_cast<double>(i) * kStep;
      while (at(now_) >= due_) {
        follow(governor_.look(at(now_), {counted_, counted_}));
        read_due();
      }
      truth_ += calls[i];
      if (off_ || now_ < attached_) continue;
      if (starting_) start();
      counted_ += calls[i];
    }
    hidden_.end();
  }
  double truth() const { return static_cast<double>(truth_); }
  double shown() const {
    double shown = static_cast<double>(counted_);
    hidden_.for_each(1, [&](int, const Estimates::Counters& counters) {
      for (const auto& [number, value] : counters) shown += static_cast<double>(value);
    });
    return shown;
  }
  double cost() const { return static_cast<double>(counted_) * 3e-6 / now_; }

 private:
  static Clock::time_point at(double seconds) {
    return Clock::time_point(std::chrono::hours(1)) +
           std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  // Of governor_.due(), which only look() and attached() change: there are millions of steps.
  void read_due() {
    due_ = governor_.due();
    off_ = !governor_.wants_probes();
  }
  Estimates::Table counters() const { return {{0, {{0, counted_}}}}; }

  void follow(const OverheadGovernor::Step& step) {
    const bool were_off = off_;
    off_ = !governor_.wants_probes();
    if (step.slice_ends && !starting_) hidden_.slice_ended(counters(), now_ - slice_began_);
    if (step.cycle_ends) hidden_.cycle_ended(now_ - cycle_began_);
    if (step.cycle_begins) cycle_began_ = now_;
    if (step.slice_begins) {
      if (were_off || !hidden_.has_base()) hidden_.begin(counters());
      starting_ = true;
      attached_ = were_off ? now_ + uniform(random_, 0, 2 * attach_seconds_) : now_;
    }
    if (step.cycle_ends && !step.cycle_begins) hidden_.end();
  }
  void start() {
    starting_ = false;
    slice_began_ = now_;
    governor_.attached(at(now_));
    read_due();
  }

  Random& random_;
  double attach_seconds_;
  OverheadGovernor governor_;
  Estimates hidden_;
  Clock::time_point due_{};
  double now_ = 0, slice_began_ = 0, cycle_began_ = 0, attached_ = 0;
  bool off_ = false, starting_ = false;
  std::uint64_t counted_ = 0, truth_ = 0;
};

struct Named {
  const char* name;
  Load load;
  double attach_seconds;
  friend void PrintTo(const Named& named, std::ostream* to) { *to << named.name; }
};

class Slices : public ::testing::TestWithParam<Named> {};

TEST_P(Slices, ShowWhatHappenedOnAverage) {
  constexpr int kRuns = 120;
  double truth = 0, difference = 0, squares = 0, cost = 0;
  for (int run = 0; run < kRuns; ++run) {
    Random random(static_cast<std::uint64_t>(run) + 1);
    Limiter limiter(random, GetParam().attach_seconds);
    limiter.run(GetParam().load(random, 300'000));
    const double off = limiter.shown() - limiter.truth();
    truth += limiter.truth() / kRuns;
    difference += off / kRuns;
    squares += off * off / kRuns;
    cost += limiter.cost() / kRuns;
  }
  const double error = std::sqrt(std::max(0.0, squares - difference * difference) / (kRuns - 1));
  EXPECT_LT(error / truth, 0.02) << "too few runs to say";
  // A run ends in the middle of a cycle, of which nothing is known.
  EXPECT_LT(std::abs(difference), 3.5 * error + 0.01 * truth)
      << "off by " << 100 * difference / truth << " %";
  EXPECT_LT(cost, 2 * kBudget);
}

INSTANTIATE_TEST_SUITE_P(Loads, Slices,
                         ::testing::Values(Named{"Steady", steady, 0.02},
                                           Named{"SteadyAndSlowToAttach", steady, 0.1},
                                           Named{"Scans", scans, 0.02},
                                           Named{"ScansAndSlowToAttach", scans, 0.05},
                                           Named{"ShortBursts", bursts(0.2, 1, 200), 0.02},
                                           Named{"Bursts", bursts(1.5, 4, 200), 0.02},
                                           Named{"LongBursts", bursts(10, 10, 100), 0.02},
                                           Named{"RareBursts", bursts(3, 15, 200), 0.02}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace ioc_exporter::records
