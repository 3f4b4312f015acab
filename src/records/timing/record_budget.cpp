#include "records/timing/record_budget.h"

#include <algorithm>

namespace ioc_exporter::records {

void RecordBudget::attached(Clock::time_point now, std::uint64_t entries) {
  marked_ = now;
  entries_ = entries;
  over_ = 0;
  due_ = now + (in_trial() ? kTrial : kLook);
}

RecordBudget::Do RecordBudget::look(Clock::time_point now, std::uint64_t entries) {
  if (now < due_) return Do::nothing;
  if (budget_ <= 0) {
    due_ = now + kLook;
    return Do::nothing;
  }
  if (rests()) {
    state_ = State::trial;
    attached(now, entries);
    return Do::attach;
  }
  const double seconds = std::chrono::duration<double>(now - marked_).count();
  const std::uint64_t more = entries > entries_ ? entries - entries_ : 0;
  const unsigned over = over_;
  attached(now, entries);
  if (seconds <= 0) return Do::nothing;
  load_ = static_cast<double>(more) * hit_seconds_ / seconds;
  if (in_trial() && load_ < budget_ * kCalm) {
    state_ = State::counts;
    kept_since_ = now;
    return Do::keep;
  }
  over_ = load_ > budget_ ? over + 1 : 0;
  if (counts() && now - kept_since_ >= kMostRest) rest_ = kFirstRest;
  if (counts() && over_ < kLooksOver) return Do::nothing;
  state_ = State::rests;
  due_ = now + rest_;
  rest_ = std::min(2 * rest_, kMostRest);
  return Do::take_off;
}

}  // namespace ioc_exporter::records
