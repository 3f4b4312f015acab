#include "policy/collector.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "policy/families.h"

namespace ioc_exporter::policy {
namespace {

// Those by PV Access are one for each client and PV, whatever the operation: each is a write.
std::vector<puts::PutCount> as_writes(const std::vector<puts::PutCount>& puts) {
  std::map<puts::PutLabels, puts::PutCount> all;
  for (const puts::PutCount& put : puts) {
    if (put.labels.protocol != puts::Protocol::pva) continue;
    puts::PutCount& sum = all.try_emplace(put.labels).first->second;
    sum.count += put.count;
    sum.hidden += put.hidden;
    sum.last_ns = std::max(sum.last_ns, put.last_ns);
  }
  std::vector<puts::PutCount> writes;
  for (auto& [labels, sum] : all) {
    sum.labels = labels;
    writes.push_back(std::move(sum));
  }
  return writes;
}

}  // namespace

PolicyCollector::PolicyCollector(iocs::Host& host, puts::PutsCollector& puts)
    : host_(host), puts_(puts) {
  puts_.set_observer(this);
}

puts::PutsOfSlots PolicyCollector::set_policy(std::shared_ptr<const Policy> policy) {
  // Counts until now belong to the former policy.
  {
    const std::scoped_lock lock(mutex_);
    is_changed_ = true;
  }
  return puts_.show_puts([&] {
    const std::scoped_lock lock(mutex_);
    is_changed_ = false;
    ca_judged_.judge.set_policy(policy);
    pva_judged_.judge.set_policy(policy);
  });
}

void PolicyCollector::set_limit(const exposition::SeriesLimit& limit) {
  ca_judged_.bounds.configure(limit);
  pva_judged_.bounds.configure(limit);
}

void PolicyCollector::puts_were_read(const puts::IocNames& names,
                                     const std::vector<puts::PutCount>& puts,
                                     const WallClock& clock) {
  const std::scoped_lock lock(mutex_);
  if (!ca_judged_.judge.policy() && !is_changed_) return;
  ca_judged_.look(names, puts, puts::Protocol::ca, clock);
  pva_judged_.look(names, as_writes(puts), puts::Protocol::pva, clock);
}

void PolicyCollector::Judged::look(const puts::IocNames& names,
                                   const std::vector<puts::PutCount>& puts, puts::Protocol protocol,
                                   const WallClock& clock) {
  std::vector<PutTotal> totals;
  totals.reserve(puts.size());
  for (const puts::PutCount& put : puts) {
    const auto& labels = put.labels;
    if (labels.protocol != protocol) continue;
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

std::string_view PolicyCollector::verdict(const PutSample& put) const {
  const std::scoped_lock lock(mutex_);
  const auto& policy = ca_judged_.judge.policy();
  if (!policy) return {};
  return verdict_of(
      policy->action(policy->decide({put.pv, put.user, put.host, put.client, put.op})));
}

// What somebody should look at; a day is as long as one may not have looked.
void PolicyCollector::status(exposition::StatusPage& page) {
  constexpr double kLately = 86400;
  std::set<std::pair<std::string, std::string>> forbidden;
  const double now = now_seconds();
  const std::scoped_lock lock(mutex_);
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
  {
    const std::scoped_lock lock(mutex_);
    samples = {ca_judged_.judge.unexpected(), ca_judged_.judge.rules()};
    pva = {pva_judged_.judge.unexpected(), pva_judged_.judge.rules()};
  }
  const auto names = host_.view()->known_names();
  const auto is_known = [&](const std::string& name) { return names.contains(name); };
  ca_judged_.bounds.apply(samples, is_known);
  pva_judged_.bounds.apply(pva, is_known);
  page.self.limited.push_back(
      {"unexpected_puts", ca_judged_.bounds.limited() + pva_judged_.bounds.limited()});
  encode_policy(samples, pva, page.encoder);
}

}  // namespace ioc_exporter::policy
