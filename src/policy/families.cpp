#include "policy/families.h"

#include <utility>

#include "exposition/merged_series.h"

namespace ioc_exporter::policy {
namespace {

constexpr exposition::Family kUnexpected{
    "epics_ca_unexpected_puts_total", exposition::FamilyType::counter,
    "Channel Access writes that the site's policy does not expect, or "
    "forbids, and the rule that decided."};
constexpr exposition::Family kRules{
    "ioc_exporter_policy_puts_total", exposition::FamilyType::counter,
    "Channel Access writes by the rule of the site's policy that decided."};

}  // namespace

void encode_policy(const PolicySamples& samples, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> unexpected;
  unexpected.reserve(samples.unexpected_puts.size());
  for (const UnexpectedPutSample& put : samples.unexpected_puts)
    unexpected.emplace_back(encoder.labels({{"ioc", put.ioc},
                                            {"pv", put.pv},
                                            {"client", put.client},
                                            {"user", put.user},
                                            {"host", put.host},
                                            {"rule", put.rule},
                                            {"action", put.action}}),
                            put.count);
  exposition::encode_counts(kUnexpected, std::move(unexpected), encoder);

  exposition::SeriesList<std::uint64_t> rules;
  for (const PolicyRuleSample& rule : samples.policy_rules)
    rules.emplace_back(encoder.labels({{"rule", rule.rule}, {"action", rule.action}}), rule.puts);
  exposition::encode_counts(kRules, std::move(rules), encoder);
}

}  // namespace ioc_exporter::policy
