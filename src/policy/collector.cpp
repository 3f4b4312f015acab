#include "policy/collector.h"

#include <unordered_set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "policy/families.h"

namespace ioc_exporter::policy {
namespace {

// Longer than the pause between two ticks.
constexpr std::chrono::milliseconds kBeforeChange{3000};

}  // namespace

PolicyCollector::PolicyCollector(iocs::Host& host, ca::CaCollector& puts)
    : host_(host), puts_(puts), bounds_(exposition::BoundsOptions().unexpected_limit) {
  puts_.set_observer(this);
}

void PolicyCollector::set_policy(std::shared_ptr<const Policy> policy) {
  const std::scoped_lock lock(host_.mutex());
  must_look_ = true;  // what was counted until now is the former policy's
  puts_.show_puts();
  must_look_ = false;
  judge_.set_policy(std::move(policy));
}

// Puts are judged by when they came: so they are read just before a time window opens or closes,
// and just after.
void PolicyCollector::tick(TimePoint) {
  const std::scoped_lock lock(host_.mutex());
  if (is_set() &&
      judge_.changes_until(now_seconds() + std::chrono::duration<double>(kBeforeChange).count()))
    puts_.show_puts();
}

void PolicyCollector::puts_were_read(const Names& names, const std::vector<ca::CaPutCount>& puts,
                                     const WallClock& clock) {
  if (!is_set() && !must_look_) return;
  std::vector<PutTotal> totals;
  totals.reserve(puts.size());
  for (const ca::CaPutCount& put : puts) {
    const auto& labels = put.labels;
    const auto name = names.find(labels.ioc);
    if (name == names.end()) continue;  // is being forgotten in this very moment
    totals.push_back({labels.ioc,
                      name->second,
                      {labels.pv, labels.user, labels.host, labels.client, put.op},
                      put.count,
                      clock.seconds(put.last_ns)});
  }
  judge_.look(totals, now_seconds());
}

void PolicyCollector::collect(exposition::Page& page) {
  PolicySamples samples;
  std::unordered_set<std::string> names;
  {
    const std::scoped_lock lock(host_.mutex());
    samples.unexpected_puts = judge_.unexpected();
    samples.policy_rules = judge_.rules();
    names = host_.known_names();
  }
  bounds_.apply(samples, [&](const std::string& name) { return names.contains(name); });
  page.self.limited.push_back({"unexpected_puts", bounds_.limited()});
  encode_policy(samples, page.encoder);
}

}  // namespace ioc_exporter::policy
