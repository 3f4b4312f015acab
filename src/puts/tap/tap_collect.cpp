// The part of CaTap that turns the kernel's counters into a reading.
#include "puts/tap/tap.h"

#include <algorithm>
#include <utility>

#include "base/wall_clock.h"

namespace ioc_exporter::ca {

Result<CaTapReading> CaTap::collect(Clock::time_point now) {
  CaOpenCounts open;
  if (auto ok = observe_flows(&open); !ok) return ok.error();
  if (auto ok = observe_channels(now); !ok) return ok.error();
  if (auto ok = observe_outcomes(); !ok) return ok.error();
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const iocx_ca_channel channel = object_.channels()[slot];
    if (channel.state == IOCX_CA_SLOT_LIVE) open.add_channel(channel);
  }
  CaTapReading reading;
  reading.puts = totals_->puts.counts();
  reading.failures = totals_->outcomes.failures();
  totals_->note_reading(kernel_ns(now));
  reading.durations = totals_->outcomes.durations();
  reading.servers = open.servers(server_totals_);
  reading.clients = open.clients();
  auto drops = read_drops();
  if (!drops) return std::move(drops).error();
  reading.drops = std::move(*drops);
  auto maps = read_maps();
  if (!maps) return std::move(maps).error();
  reading.maps = std::move(*maps);
  return reading;
}

Result<std::vector<MapSample>> CaTap::read_maps() const {
  std::uint64_t durations = 0, waiting = 0;
  for (const auto& [key, holder] : outcome_keys_) durations += key.second == kDurations;
  const auto count = [&waiting](const iocx_ca_channel_key&, const iocx_ca_pending&) { ++waiting; };
  if (auto ok = object_.maps().pending.for_each(count); !ok) return ok.error();
  return std::vector<MapSample>{
      {"ca_channels", static_cast<std::uint64_t>(std::ranges::count(used_, true)),
       object_.max_channels()},
      {"ca_circuits", circuits_, object_.maps().flows.capacity()},
      {"ca_pages", pages_, object_.max_pages()},
      {"ca_servers", servers_.size() + learned_.size(), object_.maps().servers.capacity()},
      {"ca_pending", waiting, object_.maps().pending.capacity()},
      {"ca_outcomes", durations, object_.maps().outcomes.capacity()},
      {"ca_failures", outcome_keys_.size() - durations, object_.maps().failures.capacity()}};
}

Result<std::vector<DropSample>> CaTap::read_drops() const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_CA_DROPS);
  if (!counters) return std::move(counters).error();
  auto drops = drop_samples("ca_tap", *counters, iocx_ca_drop_labels, iocx_ca_drop_lost);
  for (DropSample& drop : totals_->drops("ca_tap")) drops.push_back(std::move(drop));
  drops.push_back({"ca_tap", "late_answer", late_answers_, false});
  drops.push_back({"ca_tap", "not_an_ioc", puts_elsewhere_, false});
  return drops;
}

kernel::LostEvents CaTap::lost_events() const {
  auto lost = object_.lost_events();
  lost.switched = __atomic_load_n(&unlogged_, __ATOMIC_RELAXED);
  return lost;
}

// A circuit that has ended is not open. What it carried counts all the same.
Result<void> CaTap::observe_flows(CaOpenCounts* open) {
  auto read =
      object_.maps().flows.for_each([&](const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
        const auto ioc = ioc_of(flow.circuit, flow.ioc);
        if (!ioc) return;
        server_totals_.observe(key, *ioc, server_counts(flow.counts));
        if (open != nullptr && !flow.ended) open->add_circuit(*ioc, key, flow);
      });
  for (const auto& [ioc, counts] : server_totals_.totals())
    sources_.saw_unnamed(ioc, counts[IOCX_CA_COUNT_PUTS]);
  return read;
}

}  // namespace ioc_exporter::ca
