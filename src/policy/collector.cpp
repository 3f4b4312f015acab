#include "policy/collector.h"

#include <set>
#include <unordered_set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "policy/families.h"

namespace ioc_exporter::policy {
PolicyCollector::PolicyCollector(iocs::Host& host, ca::CaCollector& puts, pva::PvaCollector& pva)
    : host_(host), puts_(puts), pva_(pva) {
  puts_.set_observer(&ca_judged_);
  pva_.set_observer(&pva_judged_);
}

void PolicyCollector::show_puts() {
  puts_.show_puts();
  pva_.show_puts();
}

ca::PutsOfSlots PolicyCollector::set_policy(std::shared_ptr<const Policy> policy) {
  const std::scoped_lock lock(host_.mutex());
  // Counts until now belong to the former policy.
  ca_judged_.must_look = pva_judged_.must_look = true;
  show_puts();
  ca_judged_.must_look = pva_judged_.must_look = false;
  ca_judged_.judge.set_policy(policy);
  pva_judged_.judge.set_policy(std::move(policy));
  return puts_.counted();
}

void PolicyCollector::set_limit(const exposition::SeriesLimit& limit) {
  ca_judged_.bounds.configure(limit);
  pva_judged_.bounds.configure(limit);
}

void PolicyCollector::Judged::puts_were_read(const Names& names,
                                             const std::vector<ca::CaPutCount>& puts,
                                             const WallClock& clock) {
  if (!is_set() && !must_look) return;
  std::vector<PutTotal> totals;
  totals.reserve(puts.size());
  for (const ca::CaPutCount& put : puts) {
    const auto& labels = put.labels;
    const auto name = names.find(labels.ioc);
    if (name == names.end()) continue;  // is being forgotten in this very moment
    totals.push_back({labels.ioc,
                      name->second,
                      {labels.pv, labels.user, labels.host, labels.client, put.op, labels.inside},
                      put.count + put.hidden,
                      clock.seconds(put.last_ns),
                      put.serial});
  }
  judge.look(totals, now_seconds());
}

std::string_view PolicyCollector::Judged::verdict(const PutSample& put) const {
  if (!is_set()) return {};
  const Policy& policy = *judge.policy();
  return verdict_of(policy.action(policy.decide({put.pv, put.user, put.host, put.client, put.op})));
}

// What somebody should look at; a day is as long as one may not have looked.
void PolicyCollector::status(exposition::StatusPage& page) {
  constexpr double kLately = 86400;
  std::set<std::pair<std::string, std::string>> forbidden;
  const double now = now_seconds();
  const std::scoped_lock lock(host_.mutex());
  for (const Judged* judged : {&ca_judged_, &pva_judged_})
    for (const UnexpectedPutSample& put : judged->judge.unexpected())
      if (put.action == verdict_of(Action::forbid) && now - put.last_time_seconds < kLately)
        forbidden.emplace(put.ioc, put.pv);
  if (forbidden.empty()) return;
  page.facts.push_back({std::to_string(forbidden.size()),
                        forbidden.size() == 1 ? "PV with forbidden puts in the last day"
                                              : "PVs with forbidden puts in the last day",
                        true});
}

void PolicyCollector::collect(exposition::Page& page) {
  PolicySamples samples, pva;
  std::unordered_set<std::string> names;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = {ca_judged_.judge.unexpected(), ca_judged_.judge.rules()};
    pva = {pva_judged_.judge.unexpected(), pva_judged_.judge.rules()};
    names = host_.known_names();
  }
  const auto is_known = [&](const std::string& name) { return names.contains(name); };
  ca_judged_.bounds.apply(samples, is_known);
  pva_judged_.bounds.apply(pva, is_known);
  page.self.limited.push_back(
      {"unexpected_puts", ca_judged_.bounds.limited() + pva_judged_.bounds.limited()});
  encode_policy(samples, pva, page.encoder);
}

}  // namespace ioc_exporter::policy
