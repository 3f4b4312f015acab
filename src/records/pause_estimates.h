// PauseEstimates: estimates of what counters would have counted while nobody counted. The probes of
// an IOC that is looked at in slices of time are away for most of each cycle; its slice stands for
// all of it (records/overhead_governor.h). What a cycle hid is known at its end, and is added bit
// by bit during the next one: a counter that jumped would make rates jump. Estimates only grow, as
// the counters that they are added to.
//
// A key stands for many counters (a record, with its histogram), most of which are 0 all the time:
// only the others are kept. The first of them counts calls. How many calls were hidden may be known
// better than by time (records/pass_model.h); the other counters then go with them, as in the last
// slice with calls.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ioc_exporter::records {

// Calls that a cycle hid: those that were shown while it lasted, and those to be spread over the
// next one.
struct HiddenCalls {
  double at_once = 0;
  double spread = 0;
};

template <class Key>
class PauseEstimates {
 public:
  // Number and value, ascending by number; a counter that is not there is 0.
  using Counters = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  using Table = std::unordered_map<Key, Counters>;

  // A slice begins with the counters as they are.
  void begin(Table counters) {
    base_ = std::move(counters);
    has_base_ = true;
    latest_.clear();
  }
  // Whether the counters are known from which on the next slice may count.
  bool has_base() const { return has_base_; }
  // A slice is over; `seconds`: how long it was. Another may begin at once.
  void slice_ended(Table counters, double seconds) {
    latest_.clear();
    latest_seconds_ = seconds;
    for (const auto& [key, now] : counters) {
      Numbers grown = grown_since_base(key, now);
      if (!grown.empty() && seconds > 0) latest_.emplace(key, std::move(grown));
    }
    base_ = std::move(counters);
  }
  // The counters at its end are not known: what its cycle hid is not either.
  void slice_lost() {
    base_.clear();
    has_base_ = false;
    latest_.clear();
    latest_seconds_ = 0;
  }
  // What was called in the slice that has ended.
  template <class Each>
  void for_each_called(Each&& each) const {
    for (const auto& [key, grown] : latest_)
      if (const double calls = calls_in(grown); calls > 0)
        each(key, static_cast<std::uint64_t>(calls));
  }
  // The same of the slice under way, so far.
  template <class Each>
  void for_each_called(const Table& now, Each&& each) const {
    for (const auto& [key, counters] : now) {
      if (const double calls = calls_in(grown_since_base(key, counters)); calls > 0)
        each(key, static_cast<std::uint64_t>(calls));
    }
  }
  // What a cycle of so many seconds hides, in multiples of what was counted in its slice; 0: it had
  // none.
  double by_time(double seconds) const {
    return latest_seconds_ > 0 ? std::max(0.0, seconds / latest_seconds_ - 1) : 0;
  }
  // A cycle is over; `seconds`: how long it was, its slice included. A cycle without a slice is one
  // of which nothing is known. `hidden(key, by_time)`: the HiddenCalls of a key that was called in
  // some slice, where they would be `by_time` by the time that passed.
  template <class Hidden>
  void cycle_ended(double seconds, Hidden&& hidden) {
    add_spread();
    const double by_time = this->by_time(seconds);
    for (const auto& [key, grown] : latest_) {
      if (calls_in(grown) > 0)
        shapes_.try_emplace(key, grown);
      else if (by_time > 0)
        spread_.emplace(key, product(grown, by_time));
    }
    for (auto& [key, shape] : shapes_) {
      const auto latest = latest_.find(key);
      const double called = latest == latest_.end() ? 0 : calls_in(latest->second);
      const HiddenCalls its = hidden(key, called * by_time);
      if (its.at_once > 0) add(key, product(shape, its.at_once / calls_in(shape)));
      if (called > 0) shape = latest->second;
      if (its.spread > 0)
        spread_.insert_or_assign(key, product(shape, its.spread / calls_in(shape)));
    }
    latest_.clear();
    latest_seconds_ = 0;
  }
  void cycle_ended(double seconds) {
    cycle_ended(seconds, [](const Key&, double by_time) { return HiddenCalls{0, by_time}; });
  }
  // What was shown of the cycle under way stays: for_each().
  template <class Live>
  void keep(Live&& live) {
    for (const auto& [key, shape] : shapes_)
      if (const double calls = live(key); calls > 0)
        add(key, product(shape, calls / calls_in(shape)));
  }
  // No more cycles, also in the middle of one, of which then nothing is known. The estimates stay.
  void end() {
    add_spread();
    slice_lost();
    shapes_.clear();
  }

  // Calls each(key, counters) for all that was hidden. `progress`: how much of the cycle under way
  // is over, 0 to 1. `live(key)`: calls that it has hidden so far, where that is known.
  template <class Each, class Live>
  void for_each(double progress, Each&& each, Live&& live) const {
    const auto all_of = [&](const Key& key, const Numbers& hidden) {
      const auto spread = spread_.find(key);
      Numbers all = spread == spread_.end() ? hidden : sum(hidden, spread->second, progress);
      const auto shape = shapes_.find(key);
      const double calls = shape == shapes_.end() ? 0 : live(key);
      return calls > 0 ? sum(all, shape->second, calls / calls_in(shape->second)) : all;
    };
    for (const auto& [key, hidden] : hidden_) each(key, rounded(all_of(key, hidden)));
    for (const auto& [key, spread] : spread_)
      if (!hidden_.contains(key)) each(key, rounded(all_of(key, {})));
    for (const auto& [key, shape] : shapes_)
      if (!hidden_.contains(key) && !spread_.contains(key))
        if (const Numbers all = all_of(key, {}); !all.empty()) each(key, rounded(all));
  }
  template <class Each>
  void for_each(double progress, Each&& each) const {
    for_each(progress, std::forward<Each>(each), [](const Key&) { return 0.0; });
  }

 private:
  using Numbers = std::vector<std::pair<std::uint32_t, double>>;

  void add(const Key& key, const Numbers& more) {
    Numbers& hidden = hidden_[key];
    hidden = sum(hidden, more, 1);
  }
  void add_spread() {
    for (const auto& [key, spread] : spread_) add(key, spread);
    spread_.clear();
  }

  // A counter that went down began anew: nothing is known of it.
  static Numbers growth(const Counters& now, const Counters& before) {
    Numbers grown;
    auto was = before.begin();
    for (const auto& [number, value] : now) {
      while (was != before.end() && was->first < number) ++was;
      const std::uint64_t start = was != before.end() && was->first == number ? was->second : 0;
      if (value > start) grown.emplace_back(number, static_cast<double>(value - start));
    }
    return grown;
  }

  Numbers grown_since_base(const Key& key, const Counters& now) const {
    const auto before = base_.find(key);
    return growth(now, before == base_.end() ? Counters() : before->second);
  }

  static constexpr std::uint32_t kCalls = 0;
  static double calls_in(const Numbers& numbers) {
    return !numbers.empty() && numbers.front().first == kCalls ? numbers.front().second : 0;
  }

  static Numbers product(Numbers numbers, double times) {
    for (auto& [number, value] : numbers) value *= times;
    return numbers;
  }

  static Numbers sum(const Numbers& numbers, const Numbers& more, double times) {
    Numbers all;
    all.reserve(numbers.size() + more.size());
    auto next = more.begin();
    for (const auto& [number, value] : numbers) {
      for (; next != more.end() && next->first < number; ++next)
        all.emplace_back(next->first, next->second * times);
      const bool both = next != more.end() && next->first == number;
      all.emplace_back(number, both ? value + next++->second * times : value);
    }
    for (; next != more.end(); ++next) all.emplace_back(next->first, next->second * times);
    return all;
  }

  static Counters rounded(const Numbers& numbers) {
    Counters counters;
    counters.reserve(numbers.size());
    for (const auto& [number, value] : numbers)
      counters.emplace_back(number, static_cast<std::uint64_t>(std::floor(value)));
    return counters;
  }

  Table base_;  // at the start of the slice
  bool has_base_ = false;
  std::unordered_map<Key, Numbers> latest_;  // counted in the slice of this cycle
  double latest_seconds_ = 0;                // its length; 0: there was none yet
  std::unordered_map<Key, Numbers> shapes_;  // counted in the last slice with calls of the key
  std::unordered_map<Key, Numbers> spread_;  // hidden in the cycle before this one
  std::unordered_map<Key, Numbers> hidden_;  // in all cycles before that
};

}  // namespace ioc_exporter::records
