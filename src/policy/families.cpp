#include "policy/families.h"

#include <array>

#include "exposition/family_table.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::policy {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::Label;
using exposition::Series;
using exposition::when;

constexpr FamilyRow<UnexpectedPutSample> kUnexpected[] = {
    {counter("epics_unexpected_puts_total",
             "Puts that the site's policy forbids or does not expect, by rule."),
     [](const UnexpectedPutSample& put, Series& to) {
       to.add({}, put.count, put.created_time_seconds);
     }},
    {gauge("epics_last_unexpected_put_timestamp_seconds",
           "When the last put was that the policy forbids or does not expect, in seconds since "
           "1970."),
     [](const UnexpectedPutSample& put, Series& to) {
       to.add(when(put.last_time_seconds > 0, put.last_time_seconds));
     }},
};

constexpr FamilyRow<PolicyRuleSample> kRules[] = {
    {counter("ioc_exporter_policy_puts_total",
             "Puts by the rule of the site's policy that decided."),
     [](const PolicyRuleSample& rule, Series& to) { to.add(rule.puts); }},
};

}  // namespace

void encode_policy(const PolicySamples& ca, const PolicySamples& pva,
                   exposition::Encoder& encoder) {
  exposition::SharedFamilies merged;
  Series to(encoder, merged);
  const auto add_unexpected = [&to](const PolicySamples& samples, std::string_view protocol) {
    exposition::add_families(
        kUnexpected, samples.unexpected_puts,
        [protocol](const UnexpectedPutSample& put) {
          return std::array<Label, 8>{{{"ioc", put.ioc},
                                       {"protocol", protocol},
                                       {"pv", put.pv},
                                       {"client", put.client},
                                       {"user", put.user},
                                       {"client_host", put.host},
                                       {"rule", put.rule},
                                       {"action", put.action}}};
        },
        to);
  };
  add_unexpected(ca, ca::kCa);
  add_unexpected(pva, ca::kPva);
  for (const auto* const samples : {&ca, &pva})
    exposition::add_families(
        kRules, samples->policy_rules,
        [](const PolicyRuleSample& rule) {
          return std::array<Label, 2>{{{"rule", rule.rule}, {"action", rule.action}}};
        },
        to);
  merged.encode(encoder);
}

}  // namespace ioc_exporter::policy
