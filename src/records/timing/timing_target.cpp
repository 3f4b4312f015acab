#include "records/timing/timing_target.h"

#include <cmath>

namespace ioc_exporter::records {
namespace {

using Seconds = std::chrono::duration<double>;

// A count that went down began anew.
double grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

TimingTarget::TimingTarget(const Limits& limits, TimingCost cost, std::function<double()> random)
    : limits_(limits), cost_(cost), random_(std::move(random)) {}

void TimingTarget::measure(Clock::time_point now, ProbeHits hits) {
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
  if (times && entries > 0) ends_per_entry_ += 0.5 * (returns / entries - ends_per_entry_);
}

void TimingTarget::set_wanted(bool wanted, Clock::time_point now) {
  if (std::exchange(wanted_, wanted) || !wanted) return;
  if (state_ != State::before_window && state_ != State::resting) return;
  if (choose() > 1) return;
  state_ = State::resting;
  due_ = now;
}

// The least n that is within the limits; 0: none is.
unsigned TimingTarget::choose() const {
  double limit = std::numeric_limits<double>::infinity();
  if (limits_.target > 0 && !wanted_) limit = limits_.target;
  if (limits_.budget > 0) limit = std::min(limit, limits_.budget * kCalm);
  const double limit_for_all = n_ == 1 ? limit : limit * kCalm;
  if (entry_load() + timing_load() <= limit_for_all) return 1;
  const double room = limit - entry_load();
  const double n = room > 0 ? std::max(2.0, std::ceil(timing_load() / room)) : kMost + 1;
  return n <= kMost ? static_cast<unsigned>(n) : 0;
}

void TimingTarget::restart(Clock::time_point now, ProbeHits hits, bool all) {
  mark_ = now;
  marked_ = hits;
  has_mark_ = true;
  state_ = all ? State::all : State::resting;
  if (!all) n_ = 0;
  due_ = n_ == 1 ? now + kLook : now;
}

// Cycles follow each other without a gap, so that windows have their part of all time.
void TimingTarget::begin_cycle(Clock::time_point now) {
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

void TimingTarget::window_began(Clock::time_point now) {
  mark_ = now;
  due_ = now + window_;
  cycle_end_ = std::max(cycle_end_, due_);
}

TimingTarget::Do TimingTarget::close(Clock::time_point now) {
  if (state_ != State::closing) closing_since_ = now;
  state_ = State::closing;
  due_ = now + kClosing;
  return now - closing_since_ < kPatience ? Do::end_window : Do::end_window_anyhow;
}

TimingTarget::Do TimingTarget::look(Clock::time_point now, ProbeHits hits) {
  if (!has_mark_) restart(now, hits, true);
  if (now < due_) return Do::nothing;
  measure(now, hits);
  switch (state_) {
    case State::all: {
      const bool had_windows = std::exchange(n_, choose()) != 1;
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
      if (n_ > 1 && now < cycle_end_ && !(wanted_ && choose() == 1)) {
        due_ = std::min(cycle_end_, now + kLook);
        return Do::nothing;
      }
      n_ = choose();
      due_ = now + kLook;
      if (n_ > 1) begin_cycle(now);
      if (n_ != 1) return Do::nothing;
      state_ = State::all;
      return Do::time_all;
  }
  return Do::nothing;
}

}  // namespace ioc_exporter::records
