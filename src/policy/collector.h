// PolicyCollector: judges the puts that the collectors of Channel Access and PV Access read by the
// site's policy. It observes them.
#pragma once

#include <memory>
#include <vector>

#include "exposition/collector.h"
#include "iocs/host.h"
#include "policy/families.h"
#include "policy/policy.h"
#include "policy/put_judge.h"
#include "puts/collector.h"
#include "puts/pva/collector.h"

namespace ioc_exporter::policy {

class PolicyCollector final : public Collector {
 public:
  // Of the puts by one protocol.
  struct Judged final : ca::PutObserver {
    void puts_were_read(const Names& names, const std::vector<ca::CaPutCount>& puts,
                        const WallClock& clock) override;
    std::string_view verdict(const PutSample& put) const override;
    bool is_set() const { return judge.policy() != nullptr; }

    PutJudge judge;          // under the host's mutex
    bool must_look = false;  // also without a policy; the same
    UnexpectedBounds bounds{exposition::BoundsOptions().limits.unexpected_puts};  // in any thread
  };

  // All must outlive it.
  PolicyCollector(iocs::Host& host, ca::CaCollector& puts, pva::PvaCollector& pva);

  std::string_view name() const override { return "policy"; }
  bool is_enabled() const override { return false; }  // its cost is a part of that of "puts"
  // After theirs: of the puts that they have just read.
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;

  // From now on puts are judged by this policy; those that were counted before by the former one.
  // Null: by none. In any thread. Returns the earlier counts of the server probe.
  ca::PutsOfSlots set_policy(std::shared_ptr<const Policy> policy);
  // From the next scrape on. In any thread.
  void set_limit(const exposition::SeriesLimit& limit);

 private:
  void show_puts();

  iocs::Host& host_;
  ca::CaCollector& puts_;
  pva::PvaCollector& pva_;
  Judged ca_judged_, pva_judged_;
};

}  // namespace ioc_exporter::policy
