// PutPolicy: judges what the tap counts by the site's policy, and knows who was served what.
//
// served() may be called from any thread; all else under the daemon's mutex.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/wall_clock.h"
#include "web/message.h"
#include "policy/policy.h"
#include "policy/put_judge.h"
#include "policy/scrapers.h"
#include "ca/tap.h"
#include "base/samples.h"

namespace ioc_exporter::policy {

class PutPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  using Names = std::map<std::uint32_t, std::string>;

  explicit PutPolicy(Clock::time_point since) : scrapers_(since) {}

  // What was counted until now must have been look()ed at, unless nothing was. Null: no policy.
  void set(std::shared_ptr<const Policy> policy) { judge_.set_policy(std::move(policy)); }
  bool is_set() const { return judge_.policy() != nullptr; }

  // `names`: of the IOCs, by their numbers.
  void look(const Names& names, const std::vector<ca::CaPutCount>& puts, const WallClock& clock,
            Clock::time_point now);
  // A time window opens or closes before that much time has passed, or has since the last look.
  bool changes_within(std::chrono::milliseconds span) const;

  void add_to(Snapshot& snapshot) const;

  // A request was answered with the look of that number.
  void served(const web::Request& request, std::uint64_t look, Clock::time_point now);

 private:
  PutJudge judge_;
  std::mutex mutex_;  // for scrapers_
  Scrapers scrapers_;
};

}  // namespace ioc_exporter::policy
