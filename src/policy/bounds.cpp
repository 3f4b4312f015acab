#include "policy/bounds.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace ioc_exporter::policy {

using exposition::KnownIocs;
using exposition::LimitedSeries;
using exposition::name_of;
using exposition::other;
using exposition::take_summed;
using Text = std::string_view;

UnexpectedBounds::UnexpectedBounds(const exposition::SeriesLimit& limit)
    : series_(LimitedSeries::Kind::counter, 1) {
  configure(limit);
}

void UnexpectedBounds::configure(const exposition::SeriesLimit& limit) {
  const std::scoped_lock lock(mutex_);
  series_.set_limit(limit);
}

std::size_t UnexpectedBounds::limited() {
  const std::scoped_lock lock(mutex_);
  return series_.limited();
}

// Sums of 0 are shown, too: increase() must see the first unexpected put of a sum as well.
void UnexpectedBounds::apply(PolicySamples& samples, const KnownIocs& known) {
  const std::scoped_lock lock(mutex_);
  series_.begin();
  std::string verdict;
  take_summed(samples.unexpected_puts, [&](const UnexpectedPutSample& put) {
    const std::array<Text, 3> rest{put.pv, put.user, put.host};
    const std::array<std::uint64_t, 1> count{put.count};
    name_of(verdict, put.action, put.rule);
    exposition::LimitedSeries::Sum* const sum =
        series_.add({put.ioc, put.client, rest, verdict}, count);
    if (sum != nullptr) sum->latest[0] = std::max(sum->latest[0], put.last_time_seconds);
    return sum != nullptr;
  });
  series_.end(known);
  series_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    const std::size_t end = sum.detail.find('\0');
    samples.unexpected_puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                       sum.detail.substr(end + 1), sum.detail.substr(0, end),
                                       sum.values[0], sum.latest[0]});
  });
}

}  // namespace ioc_exporter::policy
