// PutLogCollector: reads the kernel's events of puts, and hands them on as PutEvents.
//
// A thread of its own takes events out of the ring, so that neither a scrape nor an IOC that is
// attached to holds them up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/random_salt.h"
#include "exposition/collector.h"
#include "kernel/event_ring.h"
#include "kernel/ring_shares.h"
#include "policy/policy.h"
#include "putlog/event_reader.h"
#include "putlog/options.h"
#include "putlog/outlets.h"
#include "puts/collector.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::putlog {

// The ring; made before its writers.
class PutLogRing {
 public:
  explicit PutLogRing(const Options& options);
  // Parameters for loading objects.
  kernel::RingUse use() const;
  std::optional<kernel::EventRing>& ring() { return ring_; }
  const std::string& problem() const { return problem_; }
  std::chrono::milliseconds answer_patience() const { return options_.answer_patience; }
  // An event is not in the ring any more.
  void note_read(std::span<const std::byte> event) const;

 private:
  Result<void> make();

  Options options_;
  kernel::RingShares shares_;
  const std::uint64_t seed_ = random_salt();
  std::optional<kernel::EventRing> ring_;  // none: it is off, or could not be made
  std::string problem_;
};

class PutLogCollector final : public Collector {
 public:
  // All must outlive it. `outlets`: null while the put log is off.
  PutLogCollector(PutLogRing& ring, puts::PutsCollector& puts, Outlets* outlets);
  ~PutLogCollector() override;

  std::string_view name() const override { return "putlog"; }
  bool is_enabled() const override { return ring_.use().fd >= 0 || !ring_.problem().empty(); }
  std::vector<ProbeState> probes() const override;
  void tick(TimePoint now) override;
  void collect(exposition::Page& page) override;

  // What puts to groups have written. In any thread.
  puts::WrittenByGroup groups() const {
    const std::scoped_lock lock(groups_mutex_);
    return groups_;
  }

  // For puts that `change` has not counted; that makes the metrics judge by the new policy, and no
  // event is judged until it is done. In any thread.
  void set_policy(std::shared_ptr<const policy::Policy> policy,
                  const std::function<puts::PutsOfSlots()>& change);

 private:
  bool read_some(std::size_t* left);
  void note_groups(std::span<const PutEvent> events);
  kernel::LostEvents lost_of(std::size_t source) const;
  EventReader::Losses losses() const;

  PutLogRing& ring_;
  puts::PutsCollector& puts_;
  Outlets* outlets_;
  EventReader reader_;  // for the thread
  mutable std::mutex groups_mutex_;
  puts::WrittenByGroup groups_;
  std::mutex policy_mutex_;
  struct PolicyChange {
    std::shared_ptr<const policy::Policy> policy;
    puts::PutsOfSlots before;
    std::uint64_t ns = 0;  // CLOCK_MONOTONIC
  };
  std::vector<PolicyChange> policy_changes_;  // of which the thread does not know yet
  TroubleLog trouble_;                        // for the thread
  std::jthread thread_;
};

}  // namespace ioc_exporter::putlog
