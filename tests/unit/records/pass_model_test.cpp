// Records of an IOC that is looked at in slices, simulated: those that scan lists process are known
// by the passes, whatever the slices cut through, and the others by time.
#include "records/pass_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "records/pause_estimates.h"

namespace ioc_exporter::records {
namespace {

using Random = std::mt19937_64;
using Estimates = PauseEstimates<std::uint64_t>;
constexpr double kPassSeconds = 0.02;  // a pass takes, at most a tenth of its period

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<>(low, high)(random);
}

// What happens at a moment: a pass begins or ends, or a record is called.
struct Event {
  double at = 0;
  enum class Kind { begins, ends, call } kind{};
  std::uint64_t of = 0;  // the list or the record
};

class Ioc {
 public:
  Ioc(Random& random, double seconds) : random_(random), seconds_(seconds) {}
  // Records that the list processes so often a pass.
  void scan(std::uint64_t list, double period, const std::map<std::uint64_t, unsigned>& records) {
    for (double at = uniform(random_, 0, period); at < seconds_; at += period) {
      const double late = at + uniform(random_, 0, period / 20);
      events_.push_back({late, Event::Kind::begins, list});
      for (const auto& [record, times] : records)
        for (unsigned i = 0; i < times; ++i)
          events_.push_back(
              {late + kPassSeconds * uniform(random_, 0.01, 0.99), Event::Kind::call, record});
      events_.push_back({late + kPassSeconds, Event::Kind::ends, list});
    }
  }
  void call_at_random(std::uint64_t record, double rate) {
    std::exponential_distribution<> pause(rate);
    for (double at = pause(random_); at < seconds_; at += pause(random_))
      events_.push_back({at, Event::Kind::call, record});
  }
  const std::vector<Event>& events() {
    std::ranges::sort(events_, {}, &Event::at);
    return events_;
  }

 private:
  Random& random_;
  double seconds_;
  std::vector<Event> events_;
};

// Cycles of four seconds with a slice of a fraction of them.
class Exporter {
 public:
  explicit Exporter(Random& random) : random_(random) {}

  void watch(const std::vector<Event>& events, double seconds) {
    auto next = events.begin();
    const auto run_to = [&](double at) {
      for (; next != events.end() && next->at <= at; ++next) take(*next);
    };
    model_.begin(lists_);
    for (double cycle = 0; cycle + 4 <= seconds; cycle += 4) {
      const double length = uniform(random_, 0.3, 0.6), begins = uniform(random_, 0, 4 - length);
      run_to(cycle + begins);
      estimates_.begin(counters());
      const auto before = lists_;
      run_to(cycle + begins + 0.005);  // it takes a while until the probes are attached
      estimates_.begin(counters());
      counting_ = true;
      model_.slice_began(before, lists_);
      run_to(cycle + begins + length);
      const auto last = lists_;
      counting_ = false;
      run_to(cycle + begins + length + 0.1);  // and until they are off
      estimates_.slice_ended(counters(), length - 0.005);
      PassModel::Calls calls;
      estimates_.for_each_called([&](auto record, auto count) { calls.emplace(record, count); });
      model_.slice_ended(last, lists_, calls);
      run_to(cycle + 4);
      model_.cycle_ended(lists_);
      estimates_.cycle_ended(
          4, [&](auto record, double by_time) { return model_.hidden(record, by_time); });
    }
    estimates_.end();
  }
  double shown(std::uint64_t record) const {
    auto shown = static_cast<double>(counted_.contains(record) ? counted_.at(record) : 0);
    estimates_.for_each(1, [&](auto key, const Estimates::Counters& counters) {
      if (key == record && !counters.empty()) shown += static_cast<double>(counters[0].second);
    });
    return shown;
  }
  double truth(std::uint64_t record) const { return static_cast<double>(truth_.at(record)); }
  std::size_t known() const { return model_.known(); }

 private:
  void take(const Event& event) {
    switch (event.kind) {
      case Event::Kind::begins:
        lists_[event.of].started += 1;
        break;
      case Event::Kind::ends:
        lists_[event.of].ended += 1;
        break;
      case Event::Kind::call:
        truth_[event.of] += 1;
        if (counting_) counted_[event.of] += 1;
        break;
    }
  }
  Estimates::Table counters() const {
    Estimates::Table table;
    for (const auto& [record, count] : counted_) table[record] = {{0, count}};
    return table;
  }

  Random& random_;
  PassModel model_;
  Estimates estimates_;
  PassModel::Lists lists_;
  bool counting_ = false;
  std::map<std::uint64_t, std::uint64_t> truth_, counted_;
};

constexpr double kSeconds = 600;  // a record that scans every two seconds is seen rarely
enum : std::uint64_t { kFast = 1, kTwice, kSlow, kChained, kRare };

TEST(PassModel, RecordsOfScanListsAreKnownAlmostExactly) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(100, 0.1, {{kFast, 1}, {kTwice, 2}});
    ioc.scan(200, 0.5, {{kSlow, 1}, {kChained, 3}});
    ioc.scan(300, 2, {{kRare, 1}});
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    const std::map<std::uint64_t, unsigned> times{
        {kFast, 1}, {kTwice, 2}, {kSlow, 1}, {kChained, 3}, {kRare, 1}};
    for (const auto& [record, a_pass] : times) {
      // What is made up for a pass at either end, and fractions.
      EXPECT_NEAR(exporter.shown(record), exporter.truth(record), 2 * a_pass + 1)
          << "record " << record << ", seed " << seed;
    }
    EXPECT_EQ(exporter.known(), 5u) << seed;
  }
}

TEST(PassModel, OtherRecordsAreEstimatedByTime) {
  double shown = 0, truth = 0;
  std::size_t known = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(100, 0.1, {{kFast, 1}});
    ioc.scan(200, 1, {});
    ioc.call_at_random(kSlow, 20);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    known += exporter.known();
    shown += exporter.shown(kSlow);
    truth += exporter.truth(kSlow);
  }
  EXPECT_NEAR(shown / truth, 1, 0.02) << "without bias";
  // Six slices may agree by chance, for a while.
  EXPECT_LE(known, 8u + 2u);
}

// A record that somebody else processes too is not counted by passes for as long as that is seen,
// and again when it is over.
TEST(PassModel, WhatWasLearnedIsGivenUpWhenItDoesNotHold) {
  Random random(1);
  Ioc ioc(random, kSeconds);
  ioc.scan(100, 0.1, {{kFast, 1}});
  ioc.call_at_random(kFast, 30);
  Exporter exporter(random);
  exporter.watch(ioc.events(), kSeconds);
  EXPECT_EQ(exporter.known(), 0u);
  EXPECT_NEAR(exporter.shown(kFast) / exporter.truth(kFast), 1, 0.1);
}

TEST(PassModel, AListThatBeginsAnewIsLearnedAnew) {
  PassModel model;
  model.begin({{1, {10, 10}}});
  model.slice_began({{1, {11, 11}}}, {{1, {11, 11}}});
  model.slice_ended({{1, {2, 2}}}, {{1, {2, 2}}}, {{kFast, 5}});
  model.cycle_ended({{1, {3, 3}}});
  EXPECT_EQ(model.hidden(kFast, 7), 7);
  EXPECT_EQ(model.known(), 0u);
}

}  // namespace
}  // namespace ioc_exporter::records
