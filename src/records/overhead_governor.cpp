#include "records/overhead_governor.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::records {
namespace {

using Seconds = std::chrono::duration<double>;

OverheadGovernor::Clock::duration to_clock(double seconds) {
  return std::chrono::duration_cast<OverheadGovernor::Clock::duration>(Seconds(seconds));
}

// A count that went down began anew.
double grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

OverheadGovernor::OverheadGovernor(double budget, HitCost cost, std::function<double()> random)
    : budget_(budget), cost_(cost), random_(std::move(random)) {}

double OverheadGovernor::load_since_mark(Clock::time_point now, ProbeHits hits) {
  const double seconds = Seconds(now - mark_).count();
  const double cost = grown(hits.entries, marked_.entries) * cost_.entry_seconds +
                      grown(hits.returns, marked_.returns) * cost_.return_seconds;
  mark_ = now;
  marked_ = hits;
  return seconds > 0 ? cost / seconds : 0;
}

void OverheadGovernor::restart(Clock::time_point now, ProbeHits hits) {
  mark_ = now;
  marked_ = hits;
  has_mark_ = true;
  state_ = State::attached;
  calm_ = 0;
  overhead_ = 0;
  attached_share_ = 1;
  due_ = now + kLook;
}

OverheadGovernor::Action OverheadGovernor::look(Clock::time_point now, ProbeHits hits) {
  if (!has_mark_) restart(now, hits);
  if (now < due_) return Action::none;
  if (state_ == State::pause) {
    mark_ = now;
    marked_ = hits;
    begin_slice(now);
    return Action::resume;
  }
  const double load = load_since_mark(now, hits);
  if (state_ == State::slice) return end_slice(now, load);
  overhead_ = load;
  if (budget_ <= 0 || load <= budget_) {
    due_ = now + kLook;
    return Action::none;
  }
  mean_load_ = load;
  calm_ = 0;
  begin_slice(now);
  return Action::begin_slices;
}

// A cycle of slice and pause has always about the same length, so that there are many between two
// scrapes; but a slice is long enough to see something.
void OverheadGovernor::begin_slice(Clock::time_point now) {
  state_ = State::slice;
  const double share = std::min(1.0, budget_ / std::max(mean_load_, budget_));
  due_ = now + std::max<Clock::duration>(kShortestSlice, to_clock(Seconds(kCycle).count() * share));
}

OverheadGovernor::Action OverheadGovernor::end_slice(Clock::time_point now, double load) {
  // The mean over several slices: were a pause's length that of its own slice's load, then busy
  // slices would stand for more time than idle ones, and the estimates would be too high.
  mean_load_ += kNewest * (load - mean_load_);
  calm_ = load < budget_ * kCalm ? calm_ + 1 : 0;
  if (calm_ >= kCalmSlices) {
    restart(now, marked_);
    overhead_ = load;
    return Action::end_slices;
  }
  if (mean_load_ <= budget_) {
    overhead_ = load;
    attached_share_ = 1;
    begin_slice(now);
    return Action::none;
  }
  const double share = budget_ / mean_load_;
  const double slice = std::max(Seconds(kShortestSlice).count(), Seconds(kCycle).count() * share);
  const double pause = slice * (1 / share - 1);
  state_ = State::pause;
  due_ = now + to_clock(pause * (0.5 + random_()));
  overhead_ = mean_load_ * share;
  attached_share_ = share;
  return Action::pause;
}

}  // namespace ioc_exporter::records
