#include "policy/put_policy.h"

#include "base/time_text.h"

namespace ioc_exporter::policy {
namespace {

// Which server asks, as far as its requests tell. Servers behind one address may be told apart by
// parameters that the site gives them in the scrape's URL.
std::string identity(const web::Request& request) {
  std::string who = request.remote;
  for (const std::string* part : {&request.forwarded_for, &request.user_agent,
                                  &request.scrape_timeout, &request.query, &request.accept})
    who += '\n' + *part;
  return who;
}

}  // namespace

void PutPolicy::look(const Names& names, const std::vector<ca::CaPutCount>& puts,
                     const WallClock& clock, Clock::time_point now) {
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
  std::uint64_t saw = 0;
  if (is_set()) {
    const std::scoped_lock lock(mutex_);
    saw = scrapers_.all_saw(judge_.policy()->text().longest_scrape_interval, now);
  }
  judge_.look(totals, now_seconds(), saw);
}

bool PutPolicy::changes_within(std::chrono::milliseconds span) const {
  return judge_.changes_until(now_seconds() + std::chrono::duration<double>(span).count());
}

void PutPolicy::add_to(Snapshot& snapshot) const {
  snapshot.unexpected_puts = judge_.unexpected();
  snapshot.policy_rules = judge_.rules();
  snapshot.policy_look = judge_.number();
}

void PutPolicy::served(const web::Request& request, std::uint64_t look, Clock::time_point now) {
  if (request.method != "GET") return;
  const std::scoped_lock lock(mutex_);
  scrapers_.served(identity(request), !request.scrape_timeout.empty(), look, now);
}

}  // namespace ioc_exporter::policy
