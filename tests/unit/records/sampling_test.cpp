// The choice of calls that are timed (bpf/shared/sampling.h), as the programs make it, on simulated
// loads: what is shown must be what happened, on average over many runs.
#include "shared/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace ioc_exporter::records {
namespace {

constexpr std::uint32_t kRate = 100;  // calls of a record that are timed a second
constexpr std::uint64_t kQuiet = IOCX_NS_PER_SECOND / kRate;
constexpr std::uint64_t kUs = 1'000, kMs = 1'000'000, kSecond = IOCX_NS_PER_SECOND;

using Random = std::mt19937_64;

// Sums over calls, true or shown: how many, how long, and how many took long.
struct Sums {
  double calls = 0, ns = 0, slow = 0;
  void add(std::uint64_t duration, bool is_slow, double weight) {
    calls += weight;
    ns += weight * static_cast<double>(duration);
    slow += is_slow ? weight : 0;
  }
};

// A record, with what session.bpf.h does at the entry of a call and calls.bpf.h at its return.
class Record {
 public:
  explicit Record(Random& random) : random_(random) {}

  // The weight of a call that is entered now; 0: it is not timed.
  std::uint32_t enter(std::uint64_t now, bool within_timed = false) {
    std::uint32_t weight = 0;
    if (iocx_sample_is_first(&sampler_, now, kQuiet) != 0 || within_timed)
      weight = 1;
    else if (sampler_.skip == 0)
      weight =
          iocx_sample_take(&sampler_, now, kRate, entered_, static_cast<std::uint32_t>(random_()));
    else
      --sampler_.skip;
    ++entered_;
    return weight;
  }
  void leave(std::uint64_t duration, bool is_slow, std::uint32_t weight) {
    truth.add(duration, is_slow, 1);
    shown.add(duration, is_slow, weight);
    timed += weight > 0 ? 1 : 0;
  }
  void call(std::uint64_t& now, std::uint64_t duration, bool is_slow) {
    leave(duration, is_slow, enter(now));
    now += duration;
  }

  Sums truth, shown;
  std::uint64_t timed = 0;

 private:
  Random& random_;
  iocx_sampler sampler_{};
  std::uint64_t entered_ = 0;
};

// Whatever goes on for some seconds; times in ns.
using Load = std::function<void(Record& record, Random& random)>;

std::uint64_t about(Random& random, std::uint64_t mean) {
  return static_cast<std::uint64_t>(
      std::exponential_distribution<>(1.0 / static_cast<double>(mean))(random));
}

bool one_in(Random& random, std::uint32_t n) {
  return random() % n == 0;
}

void steady(Record& record, Random& random) {
  for (std::uint64_t now = kSecond; now < 6 * kSecond; now += about(random, 80 * kUs)) {
    const bool slow = one_in(random, 10);
    record.call(now, slow ? 300 * kUs : 5 * kUs + about(random, 5 * kUs), slow);
  }
}

// `calls` in a row, the first of them slow, then `pause`.
Load bursts(unsigned calls, std::uint64_t pause) {
  return [=](Record& record, Random& random) {
    std::uint64_t now = kSecond + about(random, pause);
    while (now < 6 * kSecond) {
      for (unsigned i = 0; i < calls; ++i) {
        record.call(now, i == 0 ? 900 * kUs : 4 * kUs, i == 0);
        now += kUs;
      }
      now += pause;
    }
  };
}

// The longer the burst goes on, the longer its calls take.
void growing_bursts(Record& record, Random& random) {
  std::uint64_t now = kSecond;
  while (now < 6 * kSecond) {
    const auto calls = static_cast<unsigned>(50 + random() % 900);
    for (unsigned i = 0; i < calls; ++i) record.call(now, kUs + i * 20, i > 300);
    now += about(random, 30 * kMs);
  }
}

// Slow in every n-th call: a pattern that a regular choice of calls would see always or never.
Load every(unsigned n) {
  return [=](Record& record, Random& random) {
    std::uint64_t now = kSecond + about(random, kMs);
    for (unsigned i = 0; now < 6 * kSecond; ++i) {
      record.call(now, i % n == 0 ? 200 * kUs : 3 * kUs, i % n == 0);
      now += 15 * kUs;
    }
  };
}

// Now busy with short calls, now quiet with long ones, at rates on either side of kRate.
void changing_rates(Record& record, Random& random) {
  std::uint64_t now = kSecond;
  while (now < 16 * kSecond) {
    const std::uint64_t end = now + 50 * kMs + about(random, 200 * kMs);
    const std::uint64_t gaps[] = {50 * kUs, 200 * kUs, 2 * kMs, 9 * kMs, 11 * kMs};
    const std::uint64_t gap = gaps[random() % 5];
    while (now < end) {
      record.call(now, 2 * kUs + gap / 20, gap >= 2 * kMs);
      now += gap;
    }
  }
}

// A call after a longer wait takes longer, be the wait short of what counts as quiet or not.
void cold_calls(Record& record, Random& random) {
  std::uint64_t now = kSecond;
  while (now < 6 * kSecond) {
    const std::uint64_t wait = one_in(random, 20) ? about(random, 8 * kMs) : 20 * kUs;
    now += wait;
    record.call(now, wait > 5 * kMs ? 500 * kUs : 2 * kUs + wait / 50, wait > 5 * kMs);
  }
}

// The record is the child of one that is slow at times, and busy on its own as well. What it takes
// depends on who processes it.
void within_a_parent(Record& record, Random& random) {
  Record parent(random);
  for (std::uint64_t now = kSecond; now < 6 * kSecond; now += 60 * kUs) {
    if (one_in(random, 3)) {
      record.call(now, 3 * kUs, false);
      continue;
    }
    const bool slow = one_in(random, 8);
    const std::uint64_t start = now;
    const std::uint32_t weight = parent.enter(start);
    now += slow ? 400 * kUs : 2 * kUs;
    for (unsigned i = 0; i < (slow ? 3u : 1u); ++i) {
      const std::uint64_t duration = slow ? 150 * kUs : 5 * kUs;
      record.leave(duration, slow, record.enter(now, weight > 0));
      now += duration;
    }
    parent.leave(now - start, slow, weight);
  }
}

// The parent of that load.
void slow_parent(Record& record, Random& random) {
  Record child(random);
  for (std::uint64_t now = kSecond; now < 6 * kSecond; now += 60 * kUs) {
    const bool slow = one_in(random, 8);
    const std::uint64_t start = now;
    const std::uint32_t weight = record.enter(start);
    now += slow ? 400 * kUs : 2 * kUs;
    child.leave(5 * kUs, false, child.enter(now, weight > 0));
    now += 5 * kUs;
    record.leave(now - start, slow, weight);
  }
}

// Means over many runs, and how sure they are.
class Mean {
 public:
  void add(double value) {
    ++n_;
    sum_ += value;
    squares_ += value * value;
  }
  double value() const { return sum_ / n_; }
  double error() const {
    return std::sqrt(std::max(0.0, squares_ / n_ - value() * value()) / (n_ - 1));
  }

 private:
  double n_ = 0, sum_ = 0, squares_ = 0;
};

struct Named {
  const char* name;
  Load load;
  friend void PrintTo(const Named& named, std::ostream* to) { *to << named.name; }
};

class Sampling : public ::testing::TestWithParam<Named> {};

TEST_P(Sampling, ShowsWhatHappenedOnAverage) {
  constexpr int kRuns = 400;
  Mean calls, ns, slow, true_ns, true_slow;
  for (int run = 0; run < kRuns; ++run) {
    Random random(static_cast<std::uint64_t>(run) + 1);
    Record record(random);
    GetParam().load(record, random);
    ASSERT_GT(record.truth.calls, 1000);
    // In each run: the number of calls but for a block, for the price of few timed ones.
    EXPECT_LE(std::abs(record.shown.calls - record.truth.calls), record.truth.calls / 64);
    EXPECT_LT(static_cast<double>(record.timed), record.truth.calls);
    calls.add(record.shown.calls / record.truth.calls);
    ns.add(record.shown.ns - record.truth.ns);
    true_ns.add(record.truth.ns);
    slow.add(record.shown.slow - record.truth.slow);
    true_slow.add(record.truth.slow);
  }
  EXPECT_NEAR(calls.value(), 1, 0.002);
  const auto unbiased = [](const char* what, const Mean& difference, const Mean& truth) {
    EXPECT_LT(difference.error() / truth.value(), 0.012) << what << ": too few runs to say";
    EXPECT_LT(std::abs(difference.value()), 3.5 * difference.error() + 0.002 * truth.value())
        << what << ": off by " << 100 * difference.value() / truth.value() << " %";
  };
  unbiased("time", ns, true_ns);
  unbiased("slow calls", slow, true_slow);
}

INSTANTIATE_TEST_SUITE_P(
    Loads, Sampling,
    ::testing::Values(Named{"Steady", steady}, Named{"Bursts", bursts(400, 60 * kMs)},
                      Named{"BurstsWithShortPauses", bursts(25, 6 * kMs)},
                      Named{"BurstsOfFew", bursts(9, 4 * kMs)},
                      Named{"GrowingBursts", growing_bursts}, Named{"EveryFourth", every(4)},
                      Named{"EverySixteenth", every(16)}, Named{"ChangingRates", changing_rates},
                      Named{"ColdCalls", cold_calls}, Named{"WithinAParent", within_a_parent},
                      Named{"SlowParent", slow_parent}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Sampling, FewCallsOfABusyRecordAreTimed) {
  Random random(1);
  Record record(random);
  for (std::uint64_t now = kSecond; now < 11 * kSecond; now += 9 * kUs)
    record.call(now, kUs, false);
  EXPECT_EQ(record.truth.calls, 1'000'000);
  EXPECT_LT(record.timed, 2 * 10 * kRate);
  EXPECT_GT(record.timed, 10 * kRate / 2);
}

TEST(Sampling, EveryCallOfAQuietRecordIsTimed) {
  Random random(1);
  Record record(random);
  for (std::uint64_t now = kSecond; now < 101 * kSecond; now += 10 * kMs)
    record.call(now, kUs, false);
  EXPECT_EQ(record.timed, record.truth.calls);
  EXPECT_EQ(record.shown.calls, record.truth.calls);
}

TEST(Sampling, TheFirstCallsAreTimedOneByOne) {
  Random random(1);
  Record record(random);
  std::uint64_t now = kSecond;
  for (int i = 0; i < 64; ++i) record.call(now, kUs, false);
  EXPECT_EQ(record.timed, 64u);
}

// The clock of another CPU may be behind.
TEST(Sampling, TimeThatGoesBackIsNoQuietTime) {
  iocx_sampler sampler{};
  EXPECT_NE(iocx_sample_is_first(&sampler, kSecond, kQuiet), 0);
  EXPECT_EQ(iocx_sample_is_first(&sampler, kSecond - kMs, kQuiet), 0);
  EXPECT_EQ(iocx_sample_is_first(&sampler, kSecond + kQuiet - kMs, kQuiet), 0);
  EXPECT_NE(iocx_sample_is_first(&sampler, kSecond + 2 * kQuiet, kQuiet), 0);
}

}  // namespace
}  // namespace ioc_exporter::records
