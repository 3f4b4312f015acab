#include "records/timing/timing_target.h"

#include <algorithm>
#include <cmath>

namespace ioc_exporter::records {
namespace {

constexpr double kMostOf = 0.9;  // ticks are not exactly a second, or a cycle, apart

double seconds_between(TimingLevel::Clock::time_point from, TimingLevel::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void TimingLevel::restart(Clock::time_point now, const ProbeCost& cost) {
  mark_ = cycle_ = now;
  marked_ = at_cycle_ = cost;
}

void TimingLevel::measure(Clock::time_point now, const ProbeCost& cost) {
  const double seconds = seconds_between(mark_, now);
  if (seconds < kMostOf) return;
  const double counting = cost.counting - marked_.counting, timing = cost.timing - marked_.timing;
  mark_ = now;
  marked_ = cost;
  const bool is_first = !has_load_;
  has_load_ |= counting > 0;
  counting_ +=
      (is_first ? 1 : 1 - std::exp(-seconds / kMemorySeconds)) * (counting / seconds - counting_);
  if (level_ == 1 && counting > 0)
    timing_per_counting_ += (is_first ? 1 : 0.5) * (timing / counting - timing_per_counting_);
}

void TimingLevel::end_cycle(Clock::time_point now, const ProbeCost& cost) {
  const double seconds = seconds_between(cycle_, now);
  if (seconds < kMostOf * level_) return;
  spent_ += 0.5 * ((cost.timing - at_cycle_.timing) / seconds - spent_);
  cycle_ = now;
  at_cycle_ = cost;
}

// The probes at ends stay for calls and completions that outlast their second: at any level they
// cost at most as much as if all calls were timed.
double TimingLevel::timing(unsigned level) const {
  const double all = counting_ * timing_per_counting_;
  if (level_ == 1 || level == 1) return all / level;
  return std::min(all, spent_ * level_ / level);
}

unsigned TimingLevel::choose(bool all_wanted) const {
  for (const unsigned level : kLevels) {
    const double share = level < level_ ? kCalm : 1;
    if (target_ <= 0 || all_wanted || timing(level) <= target_ * share) return level;
  }
  return kLevels.back();
}

void TimingLevel::set(unsigned level, Clock::time_point now, const ProbeCost& cost) {
  spent_ = timing(level);
  level_ = level;
  cycle_ = now;
  at_cycle_ = cost;
}

// A late tick does not move the cycles, but for one that a whole cycle has passed before.
TimingCycle::Do TimingCycle::next(Clock::time_point now) {
  if (now < due()) return Do::nothing;
  if (std::exchange(has_window_, false)) return Do::begin_window;
  const std::chrono::seconds length(seconds_);
  const auto begins = now - end_ < length ? end_ : now;
  const auto lot = std::min(static_cast<unsigned>(random_() * seconds_), seconds_ - 1);
  window_ = begins + lot * kWindow;
  end_ = begins + length;
  has_window_ = true;
  return Do::begin_cycle;
}

}  // namespace ioc_exporter::records
