// MonotonicTotals: sums by key, made of counters of sources that come, grow, begin anew and go.
// Header only, no system calls. Not thread-safe.
//
// A source is what the kernel counts for: a channel, a connection, a thread; a key is the labels of
// a sum. The growth since the reading before is added to the key of the reading. A source begins
// anew where one of its counters is lower than before. A sum never shrinks: it is there from its
// first growth until it is dropped. What keys over the limit count is in overflowed(). Modulo 2^64.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>

namespace ioc_exporter {

template <std::size_t N>
using CounterValues = std::array<std::uint64_t, N>;

template <std::size_t N>
void add_to(CounterValues<N>& sum, const CounterValues<N>& more) {
  for (std::size_t i = 0; i < N; ++i) sum[i] += more[i];
}

// By how much the counters of one source grow from reading to reading.
template <std::size_t N>
class CounterGrowth {
 public:
  using Values = CounterValues<N>;

  // Growth in `now`.
  Values advance(const Values& now) {
    Values growth = now;
    if (std::ranges::equal(last_, now, std::less_equal<>()))
      for (std::size_t i = 0; i < N; ++i) growth[i] -= last_[i];
    last_ = now;
    return growth;
  }
  // Goes on from `values`, without any growth.
  void restart_at(const Values& values) { last_ = values; }
  const Values& last() const { return last_; }

 private:
  Values last_{};
};

template <class Key, std::size_t N, class Source, class SourceLess = std::less<Source>>
class MonotonicTotals {
 public:
  using Values = CounterValues<N>;
  using Totals = std::map<Key, Values>;
  using Sources = std::map<Source, CounterGrowth<N>, SourceLess>;

  explicit MonotonicTotals(std::size_t max_keys = std::numeric_limits<std::size_t>::max())
      : max_keys_(max_keys) {}

  void observe(const Source& source, const Key& key, const Values& now) {
    const Values growth = sources_[source].advance(now);
    if (growth == Values{}) return;
    const auto total = totals_.find(key);
    if (total != totals_.end())
      add_to(total->second, growth);
    else if (totals_.size() < max_keys_)
      totals_.emplace(key, growth);
    else
      add_to(overflowed_, growth);
  }
  // The same where no key has room for it.
  void observe_without_room(const Source& source, const Values& now) {
    add_to(overflowed_, sources_[source].advance(now));
  }
  // Counts of the source until now belong to no key.
  void pass_over(const Source& source, const Values& now) { sources_[source].restart_at(now); }

  void close(const Source& source) { sources_.erase(source); }
  // Drops the sums of the keys that unwanted(key) says. What their sources still count makes new
  // sums.
  template <class Unwanted>
  void drop_if(Unwanted unwanted) {
    std::erase_if(totals_, [&](const auto& entry) { return unwanted(entry.first); });
  }
  void drop(const Key& key) { totals_.erase(key); }

  const Totals& totals() const { return totals_; }
  const Sources& sources() const { return sources_; }
  const Values& overflowed() const { return overflowed_; }

 private:
  std::size_t max_keys_;
  Totals totals_;
  Sources sources_;
  Values overflowed_{};
};

}  // namespace ioc_exporter
