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
constexpr std::uint64_t kPut = 1;
constexpr double kPassSeconds = 0.02;  // a pass takes, at most a tenth of its period

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<>(low, high)(random);
}

// What happens at a moment: a pass begins or ends, or a record is called.
struct Event {
  double at = 0;
  enum class Kind { begins, ends, call } kind{};
  std::uint64_t of = 0;  // the list or the record
  std::uint64_t by = 0;  // what has set the call off; 0: the kernel does not know
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
          events_.push_back({late + kPassSeconds * uniform(random_, 0.01, 0.99), Event::Kind::call,
                             record, list});
      events_.push_back({late + kPassSeconds, Event::Kind::ends, list});
    }
  }
  // An interrupt, whose rate changes each few seconds: `calls` a pass.
  void interrupt(std::uint64_t list, std::uint64_t record, unsigned calls) {
    double rate = 10, until = 0;
    for (double at = 0; at < seconds_; at += uniform(random_, 0.8, 1.2) / rate) {
      if (at >= until) {
        rate = uniform(random_, 2, 100);
        until = at + uniform(random_, 1, 8);
      }
      set_off(list, at, record, calls);
    }
  }
  // A client that puts a lot, and then nothing for a while.
  void put_in_bursts(std::uint64_t record) {
    for (double at = 0; at < seconds_; at += uniform(random_, 2, 6)) {
      const double seconds = uniform(random_, 0.2, 1), rate = uniform(random_, 20, 100);
      for (double put = at; put < at + seconds; put += 1 / rate)
        set_off(record + kPut, put, record, 1);
    }
  }
  // Writes, of which a share processes the record.
  void put_at_times(std::uint64_t record, double rate, double share) {
    std::exponential_distribution<> pause(rate);
    for (double at = pause(random_); at < seconds_; at += pause(random_))
      set_off(record + kPut, at, record, uniform(random_, 0, 1) < share ? 1 : 0);
  }
  void call_at_random(std::uint64_t record, double rate) {
    std::exponential_distribution<> pause(rate);
    for (double at = pause(random_); at < seconds_; at += pause(random_))
      events_.push_back({at, Event::Kind::call, record});
  }
  // A record that the list sets off with this probability, as others decide.
  void scan_at_times(std::uint64_t list, double period, std::uint64_t record, double share) {
    for (double at = uniform(random_, 0, period); at < seconds_; at += period) {
      events_.push_back({at, Event::Kind::begins, list});
      if (uniform(random_, 0, 1) < share)
        events_.push_back({at + kPassSeconds / 2, Event::Kind::call, record, list});
      events_.push_back({at + kPassSeconds, Event::Kind::ends, list});
    }
  }
  // An asynchronous record and the one that it processes when it completes, up to `latest` after.
  void scan_asynchronously(std::uint64_t list, double period, std::uint64_t record,
                           std::uint64_t then, double latest) {
    for (double at = uniform(random_, 0, period); at < seconds_; at += period) {
      events_.push_back({at, Event::Kind::begins, list});
      events_.push_back({at + kPassSeconds / 2, Event::Kind::call, record, list});
      events_.push_back({at + kPassSeconds, Event::Kind::ends, list});
      events_.push_back({at + kPassSeconds + uniform(random_, 0, latest), Event::Kind::call, then,
                         record | PassModel::kCompletion});
    }
  }
  const std::vector<Event>& events() {
    std::ranges::sort(events_, {}, &Event::at);
    return events_;
  }

 private:
  // Nobody sees its end: it is taken for over a while later.
  void set_off(std::uint64_t list, double at, std::uint64_t record, unsigned calls) {
    events_.push_back({at, Event::Kind::begins, list});
    for (unsigned i = 0; i < calls; ++i)
      events_.push_back({at + 0.001 * (i + 1), Event::Kind::call, record, list});
    events_.push_back({at + 0.05, Event::Kind::ends, list});
  }

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
      for (; next_look_ <= at; next_look_ += 0.1) {
        for (; next != events.end() && next->at <= next_look_; ++next) take(*next);
        if (look_) look_(next_look_, std::fmod(next_look_, 4) / 4);
      }
      for (; next != events.end() && next->at <= at; ++next) take(*next);
    };
    model_.begin(lists_);
    for (double cycle = 0; cycle + 4 <= seconds; cycle += 4) {
      const double length = uniform(random_, 0.3, 0.6), begins = uniform(random_, 0, 4 - length);
      run_to(cycle + begins);
      estimates_.begin(counters());
      by_.clear();
      const auto before = lists_;
      run_to(cycle + begins + 0.005);  // it takes a while until the probes are attached
      estimates_.begin(counters());
      counting_ = in_slice_ = true;
      model_.slice_began(before, lists_);
      run_to(cycle + begins + length);
      const auto last = lists_;
      counting_ = false;
      run_to(cycle + begins + length + 0.1);  // and until they are off
      estimates_.slice_ended(counters(), length - 0.005);
      PassModel::Calls calls;
      estimates_.for_each_called([&](auto record, auto count) { calls[record].calls = count; });
      add_triggers(calls);
      model_.slice_ended(last, lists_, calls);
      in_slice_ = false;
      run_to(cycle + 4);
      model_.cycle_ended(lists_, estimates_.by_time(4));
      estimates_.cycle_ended(
          4, [&](auto record, double by_time) { return model_.hidden(record, by_time); });
    }
    estimates_.end();
  }
  double shown(std::uint64_t record, double progress = 1) {
    auto shown = static_cast<double>(counted_.contains(record) ? counted_.at(record) : 0);
    PassModel::Calls in_slice;
    if (in_slice_) {
      estimates_.for_each_called(counters(),
                                 [&](auto key, auto calls) { in_slice[key].calls = calls; });
      add_triggers(in_slice);
    }
    model_.look(lists_, in_slice, progress);
    estimates_.for_each(
        progress,
        [&](auto key, const Estimates::Counters& counters) {
          if (key == record && !counters.empty()) shown += static_cast<double>(counters[0].second);
        },
        [&](auto key) { return model_.shown(key); });
    return shown;
  }
  // Called every tenth of a second, with it and how much of the cycle is over.
  void look(std::function<void(double, double)> at) { look_ = std::move(at); }
  double truth(std::uint64_t record) const {
    return truth_.contains(record) ? static_cast<double>(truth_.at(record)) : 0;
  }
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
        if (counting_ && event.by != 0) by_[event.of][event.by] += 1;
        break;
    }
  }
  void add_triggers(PassModel::Calls& calls) const {
    for (const auto& [record, triggers] : by_)
      for (const auto& [trigger, number] : triggers) calls[record].by.emplace_back(trigger, number);
  }
  Estimates::Table counters() const {
    Estimates::Table table;
    for (const auto& [record, count] : counted_) table[record] = {{0, count}};
    return table;
  }

  Random& random_;
  std::function<void(double, double)> look_;
  double next_look_ = 0;
  PassModel model_;
  Estimates estimates_;
  PassModel::Lists lists_;
  bool counting_ = false, in_slice_ = false;
  std::map<std::uint64_t, std::uint64_t> truth_, counted_;
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> by_;  // of the slice
};

constexpr double kSeconds = 600;  // a record that scans every two seconds is seen rarely
// As addresses of records, even.
enum : std::uint64_t { kFast = 8, kTwice = 16, kSlow = 24, kChained = 32, kRare = 40, kPuts = 48 };

TEST(PassModel, RecordsOfScanListsAreKnownAlmostExactly) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(104, 0.1, {{kFast, 1}, {kTwice, 2}});
    ioc.scan(200, 0.5, {{kSlow, 1}, {kChained, 3}});
    ioc.scan(304, 2, {{kRare, 1}});
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

// What is estimated by time before they are known is made up for. By time alone they are some
// percent off.
TEST(PassModel, RecordsOfInterruptsAndPutsAreKnownAlmostExactly) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(104, 0.1, {{kFast, 1}});
    ioc.interrupt(200, kTwice, 2);
    ioc.interrupt(304, kSlow, 1);
    ioc.put_in_bursts(kPuts);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    for (const auto record : {kFast, kTwice, kSlow, kPuts})
      EXPECT_NEAR(exporter.shown(record) / exporter.truth(record), 1, 0.005)
          << "record " << record << ", seed " << seed;
    EXPECT_EQ(exporter.known(), 4u) << seed;
  }
}

// What is shown between is as good as what is shown at the end, and never goes down.
TEST(PassModel, WhatIsKnownIsShownAtOnce) {
  Random random(1);
  Ioc ioc(random, kSeconds);
  ioc.scan(104, 0.1, {{kFast, 1}});
  ioc.interrupt(200, kTwice, 2);
  ioc.put_in_bursts(kPuts);
  Exporter exporter(random);
  std::map<std::uint64_t, double> last;
  exporter.look([&](double at, double progress) {
    for (const auto record : {kFast, kTwice, kPuts}) {
      const double shown = exporter.shown(record, progress);
      ASSERT_GE(shown, last[record]) << "record " << record << " at " << at;
      last[record] = shown;
      if (at < kSeconds / 2) continue;
      // Passes and puts of the last 50 ms are taken for being under way.
      ASSERT_NEAR(shown, exporter.truth(record), 12) << "record " << record << " at " << at;
    }
  });
  exporter.watch(ioc.events(), kSeconds);
}

// A list for each record, as drivers with a parameter for each have, all at about the same rate.
TEST(PassModel, ManyListsOfOneRecordEach) {
  Random random(1);
  Ioc ioc(random, kSeconds);
  constexpr std::uint64_t kMany = 100;
  for (std::uint64_t i = 1; i <= kMany; ++i)
    ioc.scan(1000 * i, uniform(random, 0.2, 0.3), {{8 * i, 1}});
  Exporter exporter(random);
  exporter.watch(ioc.events(), kSeconds);
  for (std::uint64_t i = 1; i <= kMany; ++i)
    EXPECT_NEAR(exporter.shown(8 * i), exporter.truth(8 * i), 3) << i;
  EXPECT_EQ(exporter.known(), kMany);
}

TEST(PassModel, OtherRecordsAreEstimatedByTime) {
  double shown = 0, truth = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(104, 0.1, {{kFast, 1}});
    ioc.scan(200, 1, {});
    ioc.call_at_random(kSlow, 20);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    EXPECT_EQ(exporter.known(), 1u) << seed;
    shown += exporter.shown(kSlow);
    truth += exporter.truth(kSlow);
  }
  EXPECT_NEAR(shown / truth, 1, 0.02) << "without bias";
}

// One that others process, or a list only at times, goes by how often that was on average.
TEST(PassModel, WhatIsNoWholeNumberIsCountedByTheAverage) {
  double shown = 0, truth = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan_at_times(104, 0.1, kFast, 0.3);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    EXPECT_EQ(exporter.known(), 0u) << seed;
    EXPECT_NEAR(exporter.shown(kFast) / exporter.truth(kFast), 1, 0.15) << seed;
    shown += exporter.shown(kFast);
    truth += exporter.truth(kFast);
  }
  EXPECT_NEAR(shown / truth, 1, 0.03) << "without bias";
}

// A record of two lists, and one that is processed by somebody else, too.
TEST(PassModel, EachTriggerOfARecordIsCountedByItself) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan(104, 0.1, {{kFast, 1}, {kSlow, 1}});
    ioc.scan(200, 0.3, {{kSlow, 2}});
    ioc.put_in_bursts(kFast);
    ioc.scan(304, 0.2, {{kTwice, 1}});
    ioc.call_at_random(kTwice, 5);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    for (const auto record : {kFast, kSlow})
      EXPECT_NEAR(exporter.shown(record) / exporter.truth(record), 1, 0.003)
          << "record " << record << ", seed " << seed;
    EXPECT_EQ(exporter.known(), 2u) << seed;
    EXPECT_NEAR(exporter.shown(kTwice) / exporter.truth(kTwice), 1, 0.08) << seed;
  }
}

TEST(PassModel, WhatCompletionsSetOffIsKnownByTheirRecord) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds);
    ioc.scan_asynchronously(104, 0.1, kFast, kChained, 0.07);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds);
    EXPECT_NEAR(exporter.shown(kFast), exporter.truth(kFast), 3) << seed;
    EXPECT_NEAR(exporter.shown(kChained), exporter.truth(kChained), 8) << seed;
    EXPECT_EQ(exporter.known(), 2u) << seed;
  }
}

// Records that complete and set each other off: no estimate is waited for.
TEST(PassModel, CompletionsThatSetEachOtherOff) {
  PassModel model;
  model.begin({});
  const PassModel::Calls calls{{kFast, {3, {{kSlow | PassModel::kCompletion, 3}}}},
                               {kSlow, {3, {{kFast | PassModel::kCompletion, 3}}}}};
  for (unsigned i = 0; i < 10; ++i) {
    model.slice_began({}, {});
    model.slice_ended({}, {}, calls);
    model.cycle_ended({}, 4);
    model.look({}, {}, 0.5);
    for (const auto record : {kFast, kSlow}) {
      EXPECT_LE(model.hidden(record, 12).at_once + model.hidden(record, 12).spread, 30);
      EXPECT_GE(model.shown(record), 0);
    }
  }
}

// Each of a few records by the completions of all others: no way through them is followed twice.
TEST(PassModel, CompletionsInAllDirectionsAreNoLabyrinth) {
  PassModel model;
  model.begin({});
  constexpr std::uint64_t kMany = 2000;
  for (unsigned i = 0; i < 8; ++i) {
    PassModel::Calls calls;
    for (std::uint64_t record = 1; record <= kMany; ++record)
      calls[8 * record] = {2,
                           {{8 * ((record + i) % kMany + 1) | PassModel::kCompletion, 1},
                            {8 * ((record * 7 + i) % kMany + 1) | PassModel::kCompletion, 1}}};
    model.slice_began({}, {});
    model.slice_ended({}, {}, calls);
    model.cycle_ended({}, 4);
    model.look({}, calls, 0.5);
  }
  EXPECT_LE(model.shown(8), 1e6);
}

// Two that would call each other twice for each completion, without end.
TEST(PassModel, ACircleDoesNotGrowBeyondABound) {
  PassModel model;
  model.begin({});
  const PassModel::Calls calls{{kFast, {20, {{kSlow | PassModel::kCompletion, 20}}}},
                               {kSlow, {10, {{kFast | PassModel::kCompletion, 40}}}}};
  for (unsigned i = 0; i < 2000; ++i) {
    model.slice_began({}, {});
    model.slice_ended({}, {}, calls);
    model.cycle_ended({}, 4);
    model.look({}, {}, 0.5);
    const auto hidden = model.hidden(kSlow, 0);
    ASSERT_LE(hidden.at_once + hidden.spread, 2 * PassModel::kMostCalls) << i;
  }
}

// A record that is taken out of its list.
TEST(PassModel, WhatWasLearnedIsGivenUpWhenItDoesNotHold) {
  Random random(1);
  Ioc ioc(random, kSeconds);
  ioc.scan(104, 0.1, {{kFast, 1}});
  std::vector<Event> events;
  for (const Event& event : ioc.events()) {
    events.push_back(event);
    if (event.kind == Event::Kind::call && event.at < kSeconds / 2)
      events.push_back({event.at, Event::Kind::call, kSlow, event.by});
  }
  Exporter exporter(random);
  exporter.watch(events, kSeconds);
  EXPECT_EQ(exporter.known(), 1u);
  // Some more passes count for it until that is sure: eight or so that slices have seen.
  EXPECT_GE(exporter.shown(kSlow), exporter.truth(kSlow) - 3);
  EXPECT_LE(exporter.shown(kSlow), exporter.truth(kSlow) + 200);
}

TEST(PassModel, AListThatBeginsAnewIsLearnedAnew) {
  PassModel model;
  model.begin({{104, {10, 10}}});
  model.slice_began({{104, {11, 11}}}, {{104, {11, 11}}});
  model.slice_ended({{104, {2, 2}}}, {{104, {2, 2}}}, {{kFast, {5, {{104, 5}}}}});
  model.cycle_ended({{104, {3, 3}}}, 2);
  EXPECT_EQ(model.hidden(kFast, 7).spread, 7);
  EXPECT_EQ(model.known(), 0u);
}

// A reading that lacks a list, and the next one that has it again: what it had counted long ago is
// nothing that was hidden now.
TEST(PassModel, AListThatIsMissingOnceHasNoHistoryToTell) {
  for (const PassModel::Lists& without : {PassModel::Lists{}, PassModel::Lists{{200, {7, 7}}}}) {
    PassModel model;
    const PassModel::Lists early{{104, {2600, 2600}}, {200, {7, 7}}};
    model.begin(early);
    model.slice_began(early, early);
    model.slice_ended({{104, {2605, 2605}}, {200, {7, 7}}}, {{104, {2605, 2605}}, {200, {7, 7}}},
                      {{kFast, {5, {{104, 5}}}}});
    model.cycle_ended({{104, {2640, 2640}}, {200, {7, 7}}}, 7);
    EXPECT_EQ(model.hidden(kFast, 35).spread, 35);
    model.cycle_ended(without, 0);
    double told = model.hidden(kFast, 0).at_once + model.hidden(kFast, 0).spread;
    for (std::uint64_t at = 2680; at < 2900; at += 40) {
      const PassModel::Lists now{{104, {at, at}}, {200, {7, 7}}};
      const PassModel::Lists later{{104, {at + 5, at + 5}}, {200, {7, 7}}};
      const PassModel::Lists end{{104, {at + 40, at + 40}}, {200, {7, 7}}};
      model.slice_began(now, now);
      model.slice_ended(later, later, {{kFast, {5, {{104, 5}}}}});
      model.cycle_ended(end, 7);
      told += model.hidden(kFast, 35).at_once + model.hidden(kFast, 35).spread;
    }
    EXPECT_LE(told, 6 * 35 + 36);
  }
  PassModel model;
  model.begin({}, false);
  const PassModel::Lists now{{104, {2600, 2600}}}, later{{104, {2605, 2605}}};
  model.slice_began(now, now);
  model.slice_ended(later, later, {{kFast, {5, {{104, 5}}}}});
  model.cycle_ended({{104, {2640, 2640}}}, 7);
  EXPECT_LE(model.hidden(kFast, 35).spread, 35);
}

// A record that only some writes process (to a field that does not): on average, without bias, also
// before that is known.
TEST(PassModel, NotEachWriteProcesses) {
  double shown = 0, truth = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Ioc ioc(random, kSeconds / 2);
    ioc.put_at_times(kPuts, 1, 0.1);
    Exporter exporter(random);
    exporter.watch(ioc.events(), kSeconds / 2);
    shown += exporter.shown(kPuts);
    truth += exporter.truth(kPuts);
  }
  EXPECT_NEAR(shown / truth, 1, 0.15);
}

// A record that is put into one list after the other.
TEST(PassModel, TriggersOfLongAgoMakeRoom) {
  PassModel model;
  PassModel::Lists begin;
  for (std::uint64_t list = 1; list <= 8; ++list) begin[8 * list] = {0, 0};
  model.begin(begin);
  double told = 0, last = 0;
  for (std::uint64_t list = 1; list <= 8; ++list)
    for (unsigned i = 0; i < 20; ++i) {
      PassModel::Lists end = begin;
      for (auto& [any, passes] : end) passes = {passes.ended + 5, passes.ended + 5};
      PassModel::Lists next = begin;
      for (auto& [any, passes] : next) passes = {passes.ended + 40, passes.ended + 40};
      model.slice_began(begin, begin);
      model.slice_ended(end, end, {{kFast, {5, {{8 * list, 5}}}}});
      model.look(end, {}, 0.5);
      ASSERT_GE(told + model.shown(kFast), last);
      model.cycle_ended(next, 7);
      const HiddenCalls hidden = model.hidden(kFast, 35);
      last = told += hidden.at_once + hidden.spread;
      begin = next;
    }
  // By the last one; the seven changes before cost some passes each.
  EXPECT_EQ(model.known(), 1u);
  EXPECT_NEAR(told, 160 * 35, 8 * 300);
}

// What was shown stays.
TEST(PassModel, NothingGoesDownWhenAllIsLearnedAnew) {
  PassModel model;
  model.begin({{104, {10, 10}}});
  model.slice_began({{104, {10, 10}}}, {{104, {10, 10}}});
  model.slice_ended({{104, {15, 15}}}, {{104, {15, 15}}}, {{kFast, {5, {{104, 5}}}}});
  model.cycle_ended({{104, {30, 30}}}, 3);
  EXPECT_EQ(model.hidden(kFast, 15).spread, 15);
  model.look({{104, {40, 40}}}, {}, 0.5);
  EXPECT_EQ(model.shown(kFast), 10);
  model.begin({});
  EXPECT_EQ(model.shown(kFast), 10);
  model.look({}, {}, 0.6);
  EXPECT_EQ(model.shown(kFast), 10);
  model.cycle_ended({}, 0);
  EXPECT_EQ(model.hidden(kFast, 0).at_once, 10);
  EXPECT_EQ(model.hidden(kFast, 0).spread, 0);
  model.cycle_ended({}, 0);
  EXPECT_EQ(model.hidden(kFast, 0).at_once, 0);
}

}  // namespace
}  // namespace ioc_exporter::records
