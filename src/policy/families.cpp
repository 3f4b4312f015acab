#include "policy/families.h"

#include <algorithm>
#include <utility>

#include "exposition/merged_series.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::policy {
namespace {

constexpr exposition::Family kUnexpected{
    "epics_unexpected_puts_total", exposition::FamilyType::counter,
    "Puts that the site's policy does not expect, or forbids, and the rule that decided."};
constexpr exposition::Family kLast{"epics_last_unexpected_put_timestamp_seconds",
                                   exposition::FamilyType::gauge,
                                   "When the last of them was, in seconds since 1970."};
constexpr exposition::Family kRules{"ioc_exporter_policy_puts_total",
                                    exposition::FamilyType::counter,
                                    "Puts by the rule of the site's policy that decided."};

struct Unexpected {
  std::uint64_t count = 0;
  double last = 0, created = 0;
};
using UnexpectedSeries = exposition::SeriesList<Unexpected>;

// The sum was 0 when the first of its parts was; not known (0) when that of one part is not.
void merge(Unexpected& sum, const Unexpected& more) {
  sum.count += more.count;
  sum.last = std::max(sum.last, more.last);
  sum.created = std::min(sum.created, more.created);
}

void encode_unexpected(const PolicySamples& ca, const PolicySamples& pva,
                       exposition::Encoder& encoder) {
  UnexpectedSeries series;
  for (const auto& [protocol, samples] : {std::pair{ca::kCa, &ca}, std::pair{ca::kPva, &pva}})
    for (const UnexpectedPutSample& put : samples->unexpected_puts)
      series.emplace_back(encoder.labels({{"ioc", put.ioc},
                                          {"protocol", protocol},
                                          {"pv", put.pv},
                                          {"client", put.client},
                                          {"user", put.user},
                                          {"client_host", put.host},
                                          {"rule", put.rule},
                                          {"action", put.action}}),
                          Unexpected{put.count, put.last_time_seconds, put.created_time_seconds});
  encoder.begin_family(kUnexpected);
  exposition::for_each_merged(
      series, merge, [&encoder](const exposition::EncodedLabels& labels, const Unexpected& puts) {
        encoder.count(labels, puts.count, {.created_seconds = puts.created});
      });
  encoder.begin_family(kLast);
  exposition::for_each_merged(
      series, merge, [&encoder](const exposition::EncodedLabels& labels, const Unexpected& puts) {
        if (puts.last > 0) encoder.number(labels, puts.last);
      });
}

}  // namespace

void encode_policy(const PolicySamples& ca, const PolicySamples& pva,
                   exposition::Encoder& encoder) {
  encode_unexpected(ca, pva, encoder);
  exposition::SeriesList<std::uint64_t> rules;
  for (const auto* const samples : {&ca, &pva})
    for (const PolicyRuleSample& rule : samples->policy_rules)
      rules.emplace_back(encoder.labels({{"rule", rule.rule}, {"action", rule.action}}), rule.puts);
  exposition::encode_counts(kRules, std::move(rules), encoder);
}

}  // namespace ioc_exporter::policy
