// The part of Daemon that turns what the probes hold into samples.
#include "app/daemon.h"

namespace ioc_exporter::app {
namespace {

ProbeSample probe_sample(const char* name, bool loaded, std::uint64_t attachments,
                         const std::optional<bpf::ProgramStats>& stats) {
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

void Daemon::add_record_self(Snapshot& snapshot) {
  if (!records_) {
    snapshot.probes.push_back(probe_sample("record_process", false, 0, std::nullopt));
    return;
  }
  auto use = records_->use();
  auto drops = records_->drops();
  snapshot.probes.push_back(
      probe_sample("record_process", true, use ? use->attachments : 0, records_->program_stats()));
  if (use) {
    snapshot.maps.push_back({"record_threads", use->threads, use->threads_capacity});
    snapshot.maps.push_back({"ioc_records", iocs_->records_seen(), use->records_capacity});
  }
  if (!drops) return;
  for (std::uint32_t i = 0; i < drops->size(); ++i)
    snapshot.drops.push_back({"record_process", probes::record_drop_reason(i), (*drops)[i]});
}

bool Daemon::add_puts(Snapshot& snapshot) {
  if (!tap_) {
    snapshot.probes.push_back(probe_sample("ca_tap", false, 0, std::nullopt));
    return false;
  }
  snapshot.probes.push_back(probe_sample("ca_tap", true, 1, tap_->stats()));
  auto reading = tap_->collect();
  if (!reading) {
    report("read the counts of puts", reading.error());
    return false;
  }
  report("read the counts of puts", {});
  const std::map<std::uint32_t, std::string> names = iocs_->names();
  for (probes::CaPutCount& put : reading->puts) {
    const auto name = names.find(put.labels.ioc);
    if (name == names.end()) continue;  // forgotten in this very moment
    snapshot.puts.push_back({name->second, std::move(put.labels.pv), std::move(put.labels.client),
                             std::move(put.labels.user), std::move(put.labels.host), put.op,
                             put.count});
  }
  for (auto& map : reading->maps) snapshot.maps.push_back(std::move(map));
  for (auto& drop : reading->drops) snapshot.drops.push_back(std::move(drop));
  return true;
}

}  // namespace ioc_exporter::app
