#include "policy/bounds.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace ioc_exporter::policy {

using exposition::KnownIocs;
using exposition::LimitedSeries;
using exposition::name_of;
using exposition::other;
using exposition::take_summed;
using Text = std::string_view;

namespace {

// Client, PV and rule as one text.
std::string identity_of(const UnexpectedPutSample& put) {
  std::string all;
  for (const Text text : {Text(put.ioc), Text(put.pv), Text(put.client), Text(put.user),
                          Text(put.host), Text(put.rule)})
    all.append(text).append(1, '\0');
  return all;
}

// The newest forbidden put of each rule.
std::map<Text, const UnexpectedPutSample*> newest_forbidden(
    const std::vector<UnexpectedPutSample>& puts) {
  std::map<Text, const UnexpectedPutSample*> newest;
  for (const UnexpectedPutSample& put : puts) {
    if (put.action != verdict_of(Action::forbid)) continue;
    const UnexpectedPutSample*& known = newest[put.rule];
    if (known == nullptr || known->last_time_seconds <= put.last_time_seconds) known = &put;
  }
  return newest;
}

}  // namespace

UnexpectedBounds::UnexpectedBounds(const exposition::SeriesLimit& limit)
    : forbidden_(LimitedSeries::Kind::counter, 1), others_(LimitedSeries::Kind::counter, 1) {
  configure(limit);
}

void UnexpectedBounds::configure(const exposition::SeriesLimit& limit) {
  const std::scoped_lock lock(mutex_);
  forbidden_.set_limit(limit);
  others_.set_limit(limit);
}

std::size_t UnexpectedBounds::limited() {
  const std::scoped_lock lock(mutex_);
  return forbidden_.limited() + others_.limited();
}

// Sums of 0 are shown, too: increase() must see the first unexpected put of a sum as well.
void UnexpectedBounds::apply(PolicySamples& samples, const KnownIocs& known) {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> named;
  for (const auto& [rule, put] : newest_forbidden(samples.unexpected_puts))
    named.insert(identity_of(*put));
  forbidden_.begin();
  others_.begin();
  std::string verdict;
  take_summed(samples.unexpected_puts, [&](const UnexpectedPutSample& put) {
    const std::array<Text, 3> rest{put.pv, put.user, put.host};
    const std::array<std::uint64_t, 1> count{put.count};
    name_of(verdict, put.action, put.rule);
    const bool is_forbidden = put.action == verdict_of(Action::forbid);
    const bool must = is_forbidden && named.contains(identity_of(put));
    LimitedSeries& series = is_forbidden ? forbidden_ : others_;
    LimitedSeries::Sum* const sum =
        series.add({put.ioc, put.client, rest, verdict}, count,
                   must ? LimitedSeries::Own::must : LimitedSeries::Own::may);
    if (sum != nullptr) sum->latest[0] = std::max(sum->latest[0], put.last_time_seconds);
    return sum != nullptr;
  });
  for (LimitedSeries* const series : {&forbidden_, &others_}) {
    series->end(known);
    series->for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
      const std::size_t end = sum.detail.find('\0');
      samples.unexpected_puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                         sum.detail.substr(end + 1), sum.detail.substr(0, end),
                                         sum.values[0], sum.latest[0]});
    });
  }
}

}  // namespace ioc_exporter::policy
