// Families about verdicts of the site's policy, and the choice of puts that have series.
#pragma once

#include <cstddef>
#include <mutex>

#include "exposition/encoder.h"
#include "exposition/limited_series.h"
#include "policy/put_judge.h"

namespace ioc_exporter::policy {

// UnexpectedBounds: which unexpected puts have series of their own; the rest is summed under
// "(other)". exposition/limited_series.h describes those sums. Forbidden puts have places
// of their own, and the newest forbidden put of each rule is always named.
// In any thread: one waits for the other.
class UnexpectedBounds {
 public:
  explicit UnexpectedBounds(const exposition::SeriesLimit& limit);

  // From the next apply() on. Nothing that was counted is lost.
  void configure(const exposition::SeriesLimit& limit);
  void apply(PolicySamples& samples, const exposition::KnownIocs& known);
  std::size_t limited();

 private:
  std::mutex mutex_;
  exposition::LimitedSeries forbidden_, others_;
};

void encode_policy(const PolicySamples& samples, exposition::Encoder& encoder);

}  // namespace ioc_exporter::policy
