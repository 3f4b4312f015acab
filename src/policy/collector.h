// PolicyCollector: judges the puts that the CA collector reads by the site's policy. It is its
// observer, and has it read puts just before and after a time window opens or closes.
#pragma once

#include <memory>
#include <vector>

#include "ca/collector.h"
#include "exposition/collector.h"
#include "iocs/host.h"
#include "policy/bounds.h"
#include "policy/policy.h"
#include "policy/put_judge.h"

namespace ioc_exporter::policy {

class PolicyCollector final : public Collector, public ca::PutObserver {
 public:
  // Both must outlive it.
  PolicyCollector(iocs::Host& host, ca::CaCollector& puts);

  std::string_view name() const override { return "policy"; }
  bool is_enabled() const override { return false; }  // a part of what "puts" costs
  void tick(TimePoint now) override;
  // After the CA collector's: of the puts that it has just read.
  void collect(exposition::Page& page) override;

  void puts_were_read(const Names& names, const std::vector<ca::CaPutCount>& puts,
                      const WallClock& clock) override;

  // From now on puts are judged by this policy; those that were counted before by the former one.
  // Null: by none. In any thread.
  void set_policy(std::shared_ptr<const Policy> policy);
  // From the next scrape on. In any thread.
  void set_limit(const exposition::SeriesLimit& limit) { bounds_.configure(limit); }

 private:
  bool is_set() const { return judge_.policy() != nullptr; }

  iocs::Host& host_;
  ca::CaCollector& puts_;
  PutJudge judge_;           // under the host's mutex
  bool must_look_ = false;   // also without a policy; the same
  UnexpectedBounds bounds_;  // in any thread
};

}  // namespace ioc_exporter::policy
