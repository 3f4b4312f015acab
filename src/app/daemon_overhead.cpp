// The part of Daemon that keeps what the probes cost within bounds.
#include <spdlog/spdlog.h>

#include "app/daemon.h"

namespace ioc_exporter::app {

void Daemon::make_guard(const Options& options) {
  if (!records_) return;
  const double budget = options.records.overhead_budget / 100;
  records::HitCost cost = records::kAssumedHitCost;
  if (auto measured = records::measure_hit_cost(*records_)) {
    cost = *measured;
    hit_cost_ = HitCostSample{cost.entry_seconds, cost.return_seconds};
    spdlog::info("a record probe costs {:.0f} ns at the entry and {:.0f} ns at the return",
                 cost.entry_seconds * 1e9, cost.return_seconds * 1e9);
  } else {
    spdlog::warn("{}; {:.1f} us for an entry and a return are assumed", measured.error().message(),
                 (cost.entry_seconds + cost.return_seconds) * 1e6);
  }
  assumed_cost_ = cost;
  guard_.emplace(*records_, budget, cost);
}

void Daemon::govern(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (guard_) guard_->look(now);
}

std::optional<Daemon::Clock::time_point> Daemon::next_end_of_slice() {
  const std::scoped_lock lock(mutex_);
  return guard_ ? guard_->next_end() : std::nullopt;
}

void Daemon::note_scrape(double cpu_seconds) {
  const std::scoped_lock lock(scrape_mutex_);
  ++scrape_cost_.scrapes;
  scrape_cost_.cpu_seconds += cpu_seconds;
}

void Daemon::detach() {
  iocs_->set_hands_off(true);  // before the lock: who reads an IOC's memory now is the last one
  const std::scoped_lock lock(mutex_);
  iocs_->set_hands_off(true);  // an attach() may have come in between
  if (detached_) return;
  detached_ = true;
  if (guard_) guard_->set_detached(true);
  if (tap_) tap_->detach();
  spdlog::warn("all probes are detached: nothing is counted until SIGUSR2 or POST /-/attach");
}

void Daemon::attach() {
  const std::scoped_lock lock(mutex_);
  if (!detached_) return;
  detached_ = false;
  iocs_->set_hands_off(false);
  if (guard_) guard_->set_detached(false);
  if (tap_) report("attach the packet filter again", tap_->attach());
  seed_anew_ = true;
  spdlog::info("all probes are attached again");
}

void Daemon::add_overhead(Snapshot& snapshot) {
  snapshot.detached = detached_;
  snapshot.hit_cost = hit_cost_;
  const std::scoped_lock lock(scrape_mutex_);
  snapshot.scrape_cost = scrape_cost_;
}

}  // namespace ioc_exporter::app
