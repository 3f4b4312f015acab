#include "policy/families.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "exposition/family_table.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::policy {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::KnownIocs;
using exposition::Label;
using exposition::LimitedSeries;
using exposition::name_of;
using exposition::other;
using exposition::Series;
using exposition::take_summed;
using exposition::when;
using Text = std::string_view;

constexpr FamilyRow<UnexpectedPutSample> kUnexpected[] = {
    {counter("epics_unexpected_puts_total",
             "Puts that the site's policy forbids or does not expect, by rule."),
     [](const UnexpectedPutSample& put, Series& to) {
       to.add({}, put.count, put.created_time_seconds);
     }},
    {gauge("epics_last_unexpected_put_timestamp_seconds",
           "Last put that the policy forbids or does not expect, in seconds since 1970."),
     [](const UnexpectedPutSample& put, Series& to) {
       to.add(when(put.last_time_seconds > 0, put.last_time_seconds));
     }},
};

constexpr FamilyRow<PolicyRuleSample> kRules[] = {
    {counter("ioc_exporter_policy_puts_total",
             "Puts by the rule of the site's policy that decided about them."),
     [](const PolicyRuleSample& rule, Series& to) { to.add(rule.puts); }},
};

// Protocol, before the rest of a sum's name.
constexpr char kByCa = 'c', kByPva = 'p';

// Client, PV and rule as one text.
std::string identity_of(const UnexpectedPutSample& put) {
  std::string all;
  for (const Text text : {puts::protocol_of(put.by_pva), Text(put.ioc), Text(put.pv),
                          Text(put.client), Text(put.user), Text(put.host), Text(put.rule)})
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
    verdict.insert(0, 1, put.by_pva ? kByPva : kByCa);
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
      samples.unexpected_puts.push_back({.ioc = sum.ioc,
                                         .pv = other(),
                                         .client = sum.client,
                                         .user = other(),
                                         .host = other(),
                                         .rule = sum.detail.substr(end + 1),
                                         .action = sum.detail.substr(1, end - 1),
                                         .count = sum.values[0],
                                         .last_time_seconds = sum.latest[0],
                                         .by_pva = sum.detail.front() == kByPva});
    });
  }
}

void encode_policy(const PolicySamples& samples, exposition::Encoder& encoder) {
  exposition::SharedFamilies merged;
  Series to(encoder, merged);
  exposition::add_families(
      kUnexpected, samples.unexpected_puts,
      [](const UnexpectedPutSample& put) {
        return std::array<Label, 8>{{{"ioc", put.ioc},
                                     {"protocol", puts::protocol_of(put.by_pva)},
                                     {"pv", put.pv},
                                     {"client", put.client},
                                     {"user", put.user},
                                     {"client_host", put.host},
                                     {"rule", put.rule},
                                     {"action", put.action}}};
      },
      to);
  exposition::add_families(
      kRules, samples.policy_rules,
      [](const PolicyRuleSample& rule) {
        return std::array<Label, 2>{{{"rule", rule.rule}, {"action", rule.action}}};
      },
      to);
  merged.encode(encoder);
}

}  // namespace ioc_exporter::policy
