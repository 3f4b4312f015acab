#include "records/probe_seconds.h"

namespace ioc_exporter::records {
namespace {

// A count that went back is another IOC's: its slot was used again.
std::uint64_t grown_between(std::uint64_t from, std::uint64_t to) {
  return to >= from ? to - from : to;
}

}  // namespace

void ProbeSeconds::add(const std::map<std::uint32_t, ProbeHits>& hits, const HitCost& cost) {
  for (const auto& [slot, now] : hits) {
    const auto before = seen_.find(slot);
    const ProbeHits then = before == seen_.end() ? ProbeHits{} : before->second;
    total_ += cost_of(
        {grown_between(then.entries, now.entries), grown_between(then.returns, now.returns)}, cost);
  }
  seen_ = hits;
}

}  // namespace ioc_exporter::records
