// PauseEstimates: estimates of what counters would have counted while nobody counted. The probes of
// an IOC that is looked at in slices of time are away in between; each pause is taken to have been
// like the slice before it. Estimates only grow, as the counters that they are added to.
//
// A key stands for many counters (a record, with its histogram), most of which are 0 all the time:
// only the others are kept.
#pragma once

#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ioc_exporter::records {

template <class Key>
class PauseEstimates {
 public:
  // Number and value, ascending by number; a counter that is not there is 0.
  using Counters = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  using Table = std::unordered_map<Key, Counters>;

  // A slice begins with the counters as they are.
  void begin(Table counters) {
    base_ = std::move(counters);
    latest_.clear();
  }
  // A slice is over; `seconds`: how long it was, more than 0.
  void slice_ended(Table counters, double seconds) {
    latest_.clear();
    for (const auto& [key, now] : counters) {
      const auto before = base_.find(key);
      Numbers rates = growth(now, before == base_.end() ? Counters() : before->second);
      for (auto& [number, rate] : rates) rate /= seconds;
      if (!rates.empty()) latest_.emplace(key, std::move(rates));
    }
    base_ = std::move(counters);
  }
  // The pause after the last slice is over. Should something have been counted in it (calls that
  // had begun before), then begin() is called once more: it is counted, and no reason to estimate
  // more.
  void pause_ended(double seconds) {
    for (const auto& [key, rates] : latest_) {
      Numbers& hidden = hidden_[key];
      hidden = sum(hidden, rates, seconds);
    }
    latest_.clear();
  }
  // No more slices. The estimates stay.
  void end() {
    base_.clear();
    latest_.clear();
  }

  // Calls each(key, counters) for all that was hidden, `paused` seconds after the last slice ended
  // (0: no pause).
  template <class Each>
  void for_each(double paused, Each&& each) const {
    for (const auto& [key, hidden] : hidden_) {
      const auto latest = latest_.find(key);
      each(key, rounded(latest == latest_.end() ? hidden : sum(hidden, latest->second, paused)));
    }
    for (const auto& [key, rates] : latest_)
      if (!hidden_.contains(key)) each(key, rounded(sum({}, rates, paused)));
  }

 private:
  using Numbers = std::vector<std::pair<std::uint32_t, double>>;

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

  static Numbers sum(const Numbers& numbers, const Numbers& rates, double seconds) {
    Numbers all;
    all.reserve(numbers.size() + rates.size());
    auto rate = rates.begin();
    for (const auto& [number, value] : numbers) {
      for (; rate != rates.end() && rate->first < number; ++rate)
        all.emplace_back(rate->first, rate->second * seconds);
      const bool both = rate != rates.end() && rate->first == number;
      all.emplace_back(number, both ? value + rate++->second * seconds : value);
    }
    for (; rate != rates.end(); ++rate) all.emplace_back(rate->first, rate->second * seconds);
    return all;
  }

  static Counters rounded(const Numbers& numbers) {
    Counters counters;
    counters.reserve(numbers.size());
    for (const auto& [number, value] : numbers)
      counters.emplace_back(number, static_cast<std::uint64_t>(std::floor(value)));
    return counters;
  }

  Table base_;                               // at the start of the slice, or of the pause
  std::unordered_map<Key, Numbers> latest_;  // a second, in the last slice; for the pause after it
  std::unordered_map<Key, Numbers> hidden_;  // in all pauses that are over
};

}  // namespace ioc_exporter::records
