#include "policy/collector.h"

#include <set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "policy/families.h"

namespace ioc_exporter::policy {

std::vector<PutTotal> totals_of(const puts::IocNames& names,
                                const std::vector<puts::PutCount>& puts, const WallClock& clock) {
  std::vector<PutTotal> totals;
  totals.reserve(puts.size());
  for (const puts::PutCount& put : puts) {
    const auto& labels = put.labels;
    const auto name = names.find(labels.ioc);
    if (name == names.end()) continue;  // is being forgotten in this very moment
    totals.push_back({labels.ioc,
                      name->second,
                      {labels.pv, labels.user, labels.host, labels.client, put.op, labels.inside},
                      put.count + put.hidden,
                      clock.seconds(put.last_ns),
                      put.serial,
                      labels.protocol});
  }
  return totals;
}

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
    judge_.set_policy(policy);
  });
}

void PolicyCollector::set_limit(const exposition::SeriesLimit& limit) {
  bounds_.configure(limit);
}

void PolicyCollector::puts_were_read(const puts::IocNames& names,
                                     const std::vector<puts::PutCount>& puts,
                                     const WallClock& clock) {
  const std::scoped_lock lock(mutex_);
  if (judge_.policy() || is_changed_) judge_.look(totals_of(names, puts, clock), now_seconds());
}

std::string_view PolicyCollector::verdict(const PutSample& put) const {
  const std::scoped_lock lock(mutex_);
  const auto& policy = judge_.policy();
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
  for (const UnexpectedPutSample& put : judge_.unexpected())
    if (put.action == verdict_of(Action::forbid) && now - put.last_time_seconds < kLately)
      forbidden.emplace(put.ioc, put.pv);
  if (forbidden.empty()) return;
  page.facts.push_back({std::to_string(forbidden.size()),
                        forbidden.size() == 1 ? "PV with forbidden puts in the last day"
                                              : "PVs with forbidden puts in the last day",
                        true});
}

void PolicyCollector::collect(exposition::Page& page) {
  PolicySamples samples;
  {
    const std::scoped_lock lock(mutex_);
    samples = {judge_.unexpected(), judge_.rules()};
  }
  const auto names = host_.view()->known_names();
  bounds_.apply(samples, [&](const std::string& name) { return names.contains(name); });
  page.self.limited.push_back({"unexpected_puts", bounds_.limited()});
  encode_policy(samples, page.encoder);
}

}  // namespace ioc_exporter::policy
