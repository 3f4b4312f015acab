// The part of Daemon that turns what the probes hold into samples.
#include <utility>

#include "ca/samples_by_name.h"
#include "app/daemon.h"

namespace ioc_exporter::app {
namespace {

ProbeSample probe_sample(const char* name, bool loaded, std::uint64_t attachments,
                         const std::optional<kernel::ProgramStats>& stats) {
  ProbeSample sample;
  sample.probe = name;
  sample.loaded = loaded;
  sample.attachments = attachments;
  if (stats) {
    sample.runs = stats->runs;
    sample.run_time_ns = stats->run_time_ns;
  }
  return sample;
}

}  // namespace

void Daemon::add_record_self(std::uint64_t records, Snapshot& snapshot) {
  if (!records_) {
    snapshot.probes.push_back(probe_sample("record_process", false, 0, std::nullopt));
    return;
  }
  auto use = records_->use();
  auto drops = records_->drops();
  snapshot.probes.push_back(
      probe_sample("record_process", true, use ? use->attachments : 0, records_->program_stats()));
  if (const auto hits = records_->hits()) probe_seconds_.add(*hits, assumed_cost_);
  snapshot.probes.back().estimated_seconds = probe_seconds_.total();
  if (use) {
    snapshot.maps.push_back({"record_threads", use->threads, use->threads_capacity});
    snapshot.maps.push_back({"ioc_records", records, use->records_capacity});
  }
  if (!drops) return;
  for (std::uint32_t i = 0; i < drops->size(); ++i)
    snapshot.drops.push_back({"record_process", iocx_record_drop_labels[i], (*drops)[i]});
  auto put_drops = kernel::sum_per_cpu_counters(records_->object().puts().drops, IOCX_PUT_DROPS);
  if (!put_drops) return;
  (*put_drops)[IOCX_PUT_DROP_CLIENTS_FULL] += iocs_->puts_over_limit();
  for (std::uint32_t i = 0; i < put_drops->size(); ++i)
    snapshot.drops.push_back({"record_process", iocx_put_drop_labels[i], (*put_drops)[i]});
}

// How many channels have no name, and why, of IOCs that have no greater problem.
void Daemon::add_unnamed_channels(Snapshot& snapshot) const {
  if (!tap_) return;
  std::map<std::string, std::uint64_t> unnamed;
  const std::map<std::uint32_t, std::string> names = iocs_->names();
  for (const auto& [number, count] : tap_->unnamed_channels())
    if (const auto name = names.find(number); name != names.end()) unnamed[name->second] = count;
  for (CaServerSample& server : snapshot.ca_servers)
    if (const auto found = unnamed.find(server.ioc); found != unnamed.end())
      server.unnamed_channels = found->second;
  for (IocSample& ioc : snapshot.iocs) {
    const auto why = seeding_.problems().find(ioc.name);
    if (ioc.up && ioc.problem.empty() && why != seeding_.problems().end())
      ioc.problem = why->second;
  }
}

bool Daemon::add_puts(Snapshot& snapshot) {
  snapshot.puts_missing = true;
  if (!tap_) {
    snapshot.probes.push_back(probe_sample("ca_tap", false, 0, std::nullopt));
    return false;
  }
  snapshot.probes.push_back(probe_sample("ca_tap", true, tap_->attachments(), tap_->stats()));
  auto reading = read_puts(put_policy_.is_set());
  if (!reading) return false;
  snapshot.puts_missing = false;
  put_policy_.add_to(snapshot);
  ca::add_ca_samples(iocs_->names(), std::move(*reading), wall_clock_, snapshot);
  snapshot.pvs = pv_records_.resolve(snapshot.iocs, snapshot.puts);
  return true;
}

bool Daemon::add_searches(Snapshot& snapshot) {
  snapshot.searches_missing = true;
  if (!udp_) {
    snapshot.probes.push_back(probe_sample("ca_udp", false, 0, std::nullopt));
    return false;
  }
  snapshot.probes.push_back(probe_sample("ca_udp", true, tap_->attachments(), std::nullopt));
  auto reading = udp_->collect();
  if (!reading) {
    report("read the counts of searches", reading.error());
    return false;
  }
  report("read the counts of searches", {});
  snapshot.searches_missing = false;
  snapshot.searches = std::move(reading->searches);
  snapshot.searched_names = std::move(reading->names);
  snapshot.beacons = std::move(reading->beacons);
  snapshot.drops.insert(snapshot.drops.end(), reading->drops.begin(), reading->drops.end());
  snapshot.maps.insert(snapshot.maps.end(), reading->maps.begin(), reading->maps.end());
  return true;
}

}  // namespace ioc_exporter::app
