// Courier: gives a sink what is to be delivered, and knows when to go to it again. For one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {

template <class Kind>
class Courier {
 public:
  using Entry = typename Kind::Entry;
  using Clock = std::chrono::steady_clock;

  struct Round {
    std::size_t entries = 0;                   // that are done with, the first ones
    std::uint64_t delivered = 0, refused = 0;  // items
    std::string problem;                       // "" = there was none
    bool goes_on = false;                      // at once; else not before again_at()
  };

  // `name`: of the sink, for the log.
  Courier(std::unique_ptr<Sink<Entry>> sink, std::string name)
      : sink_(std::move(sink)), name_(std::move(name)) {}

  // That are to be delivered now, in order.
  std::vector<Entry>& entries() { return entries_; }
  Sink<Entry>& sink() const { return *sink_; }
  Clock::time_point again_at() const { return again_at_; }

  Round deliver_some();
  // Logs trouble once.
  void report(const std::string& action, const Result<void>& result) {
    trouble_.report(std::string(Kind::kLog) + ": " + action, result);
  }

 private:
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};

  std::uint64_t take_off(std::size_t entries);

  const std::unique_ptr<Sink<Entry>> sink_;
  const std::string name_;
  std::vector<Entry> entries_;
  std::chrono::milliseconds pause_{};  // the last one of its own
  Clock::time_point again_at_{};
  TroubleLog trouble_;
};

// The first ones; how many items they stood for.
template <class Kind>
std::uint64_t Courier<Kind>::take_off(std::size_t entries) {
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(entries);
  std::uint64_t items = 0;
  for (auto entry = entries_.begin(); entry != end; ++entry) items += Kind::weight(*entry);
  entries_.erase(entries_.begin(), end);
  return items;
}

template <class Kind>
typename Courier<Kind>::Round Courier<Kind>::deliver_some() {
  Delivered done;
  try {
    done = sink_->deliver(entries_);
  } catch (const std::exception& failure) {  // memory, mostly
    done.problem = error_in_words(failure.what());
  }
  Round round;
  done.entries = std::min(done.entries, entries_.size());
  done.refused = std::min(done.refused, entries_.size() - done.entries);
  round.entries = done.entries + done.refused;
  round.delivered = take_off(done.entries);
  round.refused = take_off(done.refused);
  report(name_, done.problem ? Result<void>(*done.problem) : Result<void>());
  if (!done.problem) {
    pause_ = kFirstPause;
    again_at_ = Clock::now() + pause_;
    round.goes_on = entries_.empty() || round.delivered > 0;
    return round;
  }
  round.problem = done.problem->message();
  // Who was told to go on has not failed to reach the receiver.
  round.goes_on = done.pause && done.pause->count() == 0;
  pause_ = round.goes_on ? kFirstPause : std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  again_at_ = Clock::now() + done.pause.value_or(pause_);
  return round;
}

}  // namespace ioc_exporter::delivery
