// PolicyCollector: judges the puts that PutsCollector reads by the site's policy. It observes them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exposition/collector.h"
#include "iocs/host.h"
#include "policy/families.h"
#include "policy/policy.h"
#include "policy/put_judge.h"
#include "puts/collector.h"

namespace ioc_exporter::policy {

// What is to be judged, in its order.
std::vector<PutTotal> totals_of(const puts::IocNames& names,
                                const std::vector<puts::PutCount>& puts, const WallClock& clock);

class PolicyCollector final : public Collector, private puts::PutObserver {
 public:
  // Both must outlive it.
  PolicyCollector(iocs::Host& host, puts::PutsCollector& puts);

  std::string_view name() const override { return "policy"; }
  bool is_enabled() const override { return false; }  // its cost is a part of that of "puts"
  // After theirs: of the puts that they have just read.
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;

  // From now on puts are judged by this policy; those that were counted before by the former one.
  // Null: by none. In any thread. Returns the earlier counts of the server probe.
  puts::PutsOfSlots set_policy(std::shared_ptr<const Policy> policy);
  // From the next scrape on. In any thread.
  void set_limit(const exposition::SeriesLimit& limit);

 private:
  void puts_were_read(const puts::IocNames& names, const std::vector<puts::PutCount>& puts,
                      const WallClock& clock) override;
  std::string_view verdict(const PutSample& put) const override;

  iocs::Host& host_;
  puts::PutsCollector& puts_;
  UnexpectedBounds bounds_{exposition::BoundsOptions().limits.unexpected_puts};
  mutable std::mutex mutex_;  // of the members below
  PutJudge judge_;
  bool is_changed_ = false;  // the policy, in this moment
};

}  // namespace ioc_exporter::policy
