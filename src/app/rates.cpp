#include "app/rates.h"

#include <utility>

namespace ioc_exporter::app {

std::map<std::string, Rates::Counts> Rates::counts_of(const Snapshot& snapshot) {
  std::map<std::string, Counts> all;
  for (const IocSample& ioc : snapshot.iocs) {
    if (!ioc.up) continue;
    Counts& counts = all[ioc.name];
    if (!ioc.records_attached) continue;
    counts.processed = 0;
    for (const RecordSample& record : ioc.records) *counts.processed += record.processed;
  }
  for (const PutSample& put : snapshot.puts)
    if (const auto ioc = all.find(put.ioc); ioc != all.end()) ioc->second.puts += put.count;
  return all;
}

IocRatesByName Rates::of(const Snapshot& snapshot, Clock::time_point now) {
  IocRatesByName rates;
  Look look{now, counts_of(snapshot)};
  const std::scoped_lock lock(mutex_);
  if (last_ && now - last_->time >= kShortest) before_ = std::exchange(last_, std::nullopt);
  if (before_ && now - before_->time > kLongest) before_.reset();
  if (before_) {
    const double seconds = std::chrono::duration<double>(now - before_->time).count();
    // A counter that went back is another process': it began anew.
    const auto rate = [seconds](std::uint64_t from, std::uint64_t to) {
      return static_cast<double>(to >= from ? to - from : to) / seconds;
    };
    for (const auto& [ioc, counts] : look.counts) {
      const auto then = before_->counts.find(ioc);
      if (then == before_->counts.end()) continue;
      IocRates& now_rates = rates[ioc];
      now_rates.puts = rate(then->second.puts, counts.puts);
      if (counts.processed && then->second.processed)
        now_rates.processed = rate(*then->second.processed, *counts.processed);
    }
  }
  if (!last_) last_ = std::move(look);
  return rates;
}

}  // namespace ioc_exporter::app
