#include "records/timing_governor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ioc_exporter::records {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = TimingGovernor::Clock;

// A count that went down began anew.
double grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

unsigned ceiled(double n, unsigned most) {
  return static_cast<unsigned>(std::clamp(std::ceil(n), 1.0, static_cast<double>(most)));
}

}  // namespace

TimingGovernor::TimingGovernor(const Limits& limits, HitCost cost, std::function<double()> random)
    : limits_(limits), cost_(cost), random_(std::move(random)), rate_(limits.most_rate) {}

double TimingGovernor::timed_share() const {
  return limits_.choice == TimingChoice::by_rate ? std::min(1.0, returns_per_entry_) : 1.0 / n_;
}

void TimingGovernor::measure(Clock::time_point now, ProbeHits hits) {
  const double seconds = Seconds(now - mark_).count();
  const double entries = grown(hits.entries, marked_.entries);
  const double returns = grown(hits.returns, marked_.returns);
  mark_ = now;
  marked_ = hits;
  if (seconds <= 0) return;
  const double newest = has_load_ ? 1 - std::exp(-seconds / kMemorySeconds) : 1;
  has_load_ = true;
  entries_ += newest * (entries / seconds - entries_);
  const bool times = state_ == State::all || state_ == State::window;
  if (!times || entries == 0) return;
  const double ratio = returns / entries;
  returns_per_entry_ += (has_ratio_ ? 0.5 : 1) * (ratio - returns_per_entry_);
  has_ratio_ = true;
}

void TimingGovernor::set_wanted(bool wanted, Clock::time_point now) {
  if (std::exchange(wanted_, wanted) || !wanted) return;
  if (state_ != State::before_window && state_ != State::resting) return;
  if (choose() > 1) return;
  state_ = State::resting;
  due_ = now;
}

// The least n that is within the target and the budget.
unsigned TimingGovernor::choose() const {
  const double entry = entry_load(), timing = timing_load();
  unsigned n = 1;
  const double target = limits_.target * (n_ > 1 ? kCalm : 1);
  if (limits_.target > 0 && !wanted_ && entry + timing > target) {
    const double room = std::max(limits_.target - entry, limits_.target / 1000);
    n = std::max(2u, ceiled(timing / room, kMostForTarget));
  }
  if (limits_.budget > 0 && entry + timing / n > limits_.budget) {
    const double room = std::max(limits_.budget - entry, limits_.budget / 1000);
    n = std::max(n, ceiled(timing / room, kMostForBudget));
  }
  return timing > 0 ? n : 1;
}

TimingGovernor::Do TimingGovernor::follow_rate() {
  const double entry = entry_load(), timing = timing_load();
  const std::uint32_t before = rate_;
  if (limits_.target > 0 && entry + timing > limits_.target && timing > 0) {
    const double share = std::max((limits_.target - entry) / timing, 0.1);
    rate_ = std::max(kLeastRate, static_cast<std::uint32_t>(rate_ * std::min(share, 1.0)));
  } else if (entry + timing < kCalm * limits_.target || limits_.target <= 0) {
    rate_ = std::min(limits_.most_rate, rate_ * 2);
  }
  return rate_ == before ? Do::nothing : Do::set_rate;
}

void TimingGovernor::restart(Clock::time_point now, ProbeHits hits) {
  mark_ = now;
  marked_ = hits;
  has_mark_ = true;
  state_ = State::all;
  due_ = n_ > 1 ? now : now + kLook;
}

// Cycles follow each other without a gap, so that windows have their part of all time.
void TimingGovernor::begin_cycle(Clock::time_point now) {
  const auto shortest = Seconds(kShortestWindow).count();
  const double length = std::max(shortest, Seconds(limits_.cycle).count() / n_);
  window_ = std::chrono::duration_cast<Clock::duration>(
      Seconds(length * (1 - kSpread + 2 * kSpread * random_())));
  const auto chosen = std::min(static_cast<unsigned>(random_() * n_), n_ - 1);
  const auto begins = now - cycle_end_ < window_ ? cycle_end_ : now;
  cycle_end_ = begins + window_ * n_;
  due_ = std::max(now, begins + window_ * chosen);
  state_ = State::before_window;
}

void TimingGovernor::window_began(Clock::time_point now) {
  mark_ = now;
  due_ = now + window_;
  cycle_end_ = std::max(cycle_end_, due_);
}

TimingGovernor::Do TimingGovernor::close(Clock::time_point now) {
  if (state_ != State::closing) closing_since_ = now;
  state_ = State::closing;
  due_ = now + kClosing;
  return now - closing_since_ < kPatience ? Do::end_window : Do::end_window_anyhow;
}

TimingGovernor::Do TimingGovernor::look(Clock::time_point now, ProbeHits hits) {
  if (!has_mark_) restart(now, hits);
  if (now < due_) return Do::nothing;
  measure(now, hits);
  if (limits_.choice != TimingChoice::by_windows) {
    due_ = now + kLook;
    return limits_.choice == TimingChoice::by_rate ? follow_rate() : Do::nothing;
  }
  switch (state_) {
    case State::all: {
      const bool had_windows = std::exchange(n_, choose()) > 1;
      due_ = now + kLook;
      if (n_ == 1) return had_windows ? Do::time_all : Do::nothing;
      cycle_end_ = now;
      return close(now);
    }
    case State::before_window:
      state_ = State::window;
      due_ = now + window_;
      return Do::begin_window;
    case State::window:
    case State::closing:
      return close(now);
    case State::resting:
      if (now < cycle_end_ && !(wanted_ && choose() == 1)) {
        due_ = std::min(cycle_end_, now + kLook);
        return Do::nothing;
      }
      n_ = choose();
      if (n_ > 1) {
        begin_cycle(now);
        return Do::nothing;
      }
      state_ = State::all;
      due_ = now + kLook;
      return Do::time_all;
  }
  return Do::nothing;
}

}  // namespace ioc_exporter::records
