#include "records/cost_calibration.h"

#include <algorithm>

namespace ioc_exporter::records {

void CostCalibration::begin(bool with_probes, const Moment& now) {
  with_probes_ = with_probes;
  began_ = now;
  running_ = true;
}

void CostCalibration::end(const Moment& now) {
  if (!running_) return;
  running_ = false;
  const double seconds = now.seconds - began_.seconds, cpu = now.cpu_seconds - began_.cpu_seconds;
  if (seconds <= 0 || cpu < 0 || now.assumed_seconds < began_.assumed_seconds) return;
  if (with_probes_)
    for (Sum& sum : sums_)
      sum = {sum.seconds * kKept, sum.cpu_seconds * kKept, sum.assumed_seconds * kKept};
  Sum& sum = sums_[with_probes_ ? 1 : 0];
  sum.seconds += seconds;
  sum.cpu_seconds += cpu;
  sum.assumed_seconds += now.assumed_seconds - began_.assumed_seconds;
  update();
}

void CostCalibration::forget_times() {
  running_ = false;
  before_ = now_.after(before_);
  now_ = {};
  sums_[0] = sums_[1] = {};
}

void CostCalibration::update() {
  const Sum &without = sums_[0], &with = sums_[1];
  if (without.seconds <= 0 || with.seconds <= 0) return;
  const auto more = [&](double Sum::*what) {
    return with.*what / with.seconds - without.*what / without.seconds;
  };
  const double assumed = more(&Sum::assumed_seconds);
  if (assumed <= 0) return;
  now_.factor = std::clamp(more(&Sum::cpu_seconds) / assumed, kLeast, kMost);
  const double seconds = std::min(with.seconds, without.seconds);
  now_.trust = seconds / (seconds + kTrustSeconds);
}

CostCalibration::Belief CostCalibration::Belief::after(const Belief& before) const {
  const double kept = before.trust * (1 - trust), all = kept + trust;
  return all > 0 ? Belief{(kept * before.factor + trust * factor) / all, all} : Belief{};
}

double CostCalibration::factor(double at_first) const {
  const Belief all = now_.after(before_);
  return at_first + all.trust * (all.factor - at_first);
}

}  // namespace ioc_exporter::records
