#include "records/overhead_governor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ioc_exporter::records {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = OverheadGovernor::Clock;

constexpr double kMostSlots = 1e6;

Clock::duration to_clock(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

// A count that went down began anew.
double grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

OverheadGovernor::OverheadGovernor(double budget, HitCost cost, std::function<double()> random,
                                   double least_timed)
    : budget_(budget), cost_(cost), random_(std::move(random)), least_timed_(least_timed) {}

OverheadGovernor::Load OverheadGovernor::load_since_mark(Clock::time_point now, ProbeHits hits) {
  const double seconds = Seconds(now - mark_).count();
  const double entries = grown(hits.entries, marked_.entries) * cost_.entry_seconds;
  const double returns = grown(hits.returns, marked_.returns) * cost_.return_seconds;
  mark_ = now;
  marked_ = hits;
  if (seconds <= 0) return {};
  return {(entries + returns) / seconds, (entries + returns * least_timed_) / seconds};
}

double OverheadGovernor::cycle_seconds() const {
  return Seconds(cycle_end_ - cycle_began_).count();
}

void OverheadGovernor::restart(Clock::time_point now, ProbeHits hits) {
  mark_ = now;
  marked_ = hits;
  has_mark_ = true;
  state_ = State::attached;
  calm_ = 0;
  overhead_ = pause_load_ = 0;
  attached_share_ = 1;
  due_ = now + kLook;
}

OverheadGovernor::Step OverheadGovernor::look(Clock::time_point now, ProbeHits hits) {
  if (!has_mark_) restart(now, hits);
  Step step;
  if (now < due_) return step;
  switch (state_) {
    case State::attached:
      overhead_ = load_since_mark(now, hits).all;
      if (budget_ <= 0 || overhead_ <= budget_) {
        due_ = now + kLook;
        return step;
      }
      mean_load_ = overhead_;
      begin_cycle(now, step);
      return step;
    case State::before_slice:
      pause_load_ = load_since_mark(now, hits).all;
      begin_slice(step);
      return step;
    case State::slice:
      return end_slice(now, load_since_mark(now, hits));
    case State::after_slice:
      // The next slice's are from now on. What there was is no measure: the probes take a while to
      // go.
      mark_ = now;
      marked_ = hits;
      end_cycle(now, step);
      return step;
  }
  return step;
}

void OverheadGovernor::attached(Clock::time_point now) {
  mark_ = now;
  if (state_ != State::slice) return;
  due_ = std::max(due_, now + slot_ / 2);
  cycle_end_ = std::max(cycle_end_, due_);
}

// A cycle has always about the same length, so that there are many between two scrapes; but a slice
// is long enough to see something.
void OverheadGovernor::begin_cycle(Clock::time_point now, Step& step) {
  step.cycle_begins = true;
  const double slots = std::clamp(std::ceil(mean_load_ / budget_), 1.0, kMostSlots);
  const double length = std::max(Seconds(kShortestSlice).count(), Seconds(kCycle).count() / slots);
  slot_ = to_clock(length * (1 - kSpread + 2 * kSpread * random_()));
  const double chosen = std::min(std::floor(random_() * slots), slots - 1);
  overhead_ = mean_load_ / slots;
  attached_share_ = 1 / slots;
  cycle_began_ = now;
  cycle_end_ = now + slot_ * static_cast<std::int64_t>(slots);
  due_ = now + slot_ * static_cast<std::int64_t>(chosen);
  state_ = State::before_slice;
  if (chosen == 0) begin_slice(step);
}

void OverheadGovernor::begin_slice(Step& step) {
  step.slice_begins = true;
  state_ = State::slice;
  due_ += slot_;
}

OverheadGovernor::Step OverheadGovernor::end_slice(Clock::time_point now, Load load) {
  Step step;
  step.slice_ends = true;
  mean_load_ += kNewest * (load.all - mean_load_);
  calm_ = load.least < budget_ * kCalm ? calm_ + 1 : 0;
  state_ = State::after_slice;
  due_ = cycle_end_;
  if (now >= cycle_end_) end_cycle(now, step);
  return step;
}

void OverheadGovernor::end_cycle(Clock::time_point now, Step& step) {
  step.cycle_ends = true;
  if (calm_ < kCalmSlices) return begin_cycle(now, step);
  const double load = mean_load_;
  restart(now, marked_);
  overhead_ = load;
}

}  // namespace ioc_exporter::records
