#include "app/self_families.h"

#include <utility>

#include "exposition/number_text.h"
#include "exposition/prometheus_family.h"
#include "iocs/families.h"

namespace ioc_exporter::app {
namespace {

using Families = exposition::FamilyList;

void add_build_info(const BuildInfo& build, Families& to) {
  to.gauge("ioc_exporter_build_info",
           "The exporter's version, source revision and compiler. Always 1.")
      .add({{"version", build.version}, {"revision", build.revision}, {"compiler", build.compiler}},
           1);
}

void add_probes(const std::vector<ProbeSample>& probes, Families& to) {
  auto& loaded =
      to.flag("ioc_exporter_probe_loaded", "Whether the probe's programs are in the kernel.");
  auto& attachments = to.gauge("ioc_exporter_probe_attachments",
                               "Places where the probe is attached now: uprobes, or sockets.");
  auto& runs = to.counter("ioc_exporter_probe_runs_total",
                          "Runs of the probe's programs, as the kernel counts them while "
                          "kernel.bpf_stats_enabled is 1.");
  auto& seconds = to.counter("ioc_exporter_probe_run_seconds_total",
                             "Time that the probe's programs ran, as the kernel counts it while "
                             "kernel.bpf_stats_enabled is 1.");
  for (const ProbeSample& probe : probes) {
    loaded.add({{"probe", probe.probe}}, probe.loaded);
    attachments.add({{"probe", probe.probe}}, probe.attachments);
    if (probe.runs) runs.add({{"probe", probe.probe}}, *probe.runs);
    if (probe.run_time_ns)
      seconds.add({{"probe", probe.probe}}, exposition::seconds_from_ns(*probe.run_time_ns));
  }
}

void add_ioc_overhead(const std::vector<IocOverheadSample>& samples, Families& to) {
  auto& seconds = to.counter(
      "ioc_exporter_ioc_overhead_seconds_total",
      "Time that the probe took from the IOC's threads: traps by their kind, and the programs in "
      "them.");
  for (const IocOverheadSample& one : samples)
    seconds.add({{"ioc", one.ioc}, {"probe", one.probe}}, one.seconds);
}

void add_http(const HttpSample& http, Families& to) {
  auto& refused =
      to.counter("ioc_exporter_http_refused_total",
                 "HTTP requests that were refused, or whose answer was not taken, by reason.");
  for (const auto& [reason, count] : http.refused) refused.add({{"reason", reason}}, count);
  auto& answered = to.counter("ioc_exporter_http_requests_total",
                              "Scrapes that were answered before this one (path=\"/metrics\"), and "
                              "actions by POST, by path.");
  for (const auto& [path, count] : http.answered) answered.add({{"path", path}}, count);
}

void add_maps(const std::vector<MapSample>& maps, Families& to) {
  auto& entries = to.gauge("ioc_exporter_map_entries",
                           "Entries in use in the probes' kernel maps; absent: none.");
  auto& capacity =
      to.gauge("ioc_exporter_map_capacity", "Entries that the kernel maps with entries can hold.");
  for (const MapSample& map : maps) {
    if (map.entries == 0) continue;
    entries.add({{"map", map.map}}, map.entries);
    capacity.add({{"map", map.map}}, map.capacity);
  }
}

void add_kernel_memory(const KernelMemorySample& memory, Families& to) {
  to.gauge("ioc_exporter_kernel_memory_bytes",
           "Kernel memory that the counts of IOCs' records take, at most.")
      .add({}, memory.bytes);
}

void add_drops(const Drops& drops, Families& to) {
  auto& dropped = to.counter("ioc_exporter_dropped_total",
                             "Events that were not counted, or not with all labels, by reason.");
  for (const auto& [reason, count] : drops)
    dropped.add({{"probe", reason.first}, {"reason", reason.second}}, count);
}

void add_config(const ConfigSample& config, Families& to) {
  to.gauge("ioc_exporter_config_last_reload_successful",
           "Whether the last attempt to load the configuration files succeeded.")
      .add({}, config.successful);
  to.gauge("ioc_exporter_config_last_reload_success_timestamp_seconds",
           "Last successful load of the configuration files, in seconds since 1970.")
      .add({}, config.success_time_seconds);
  if (!config.certificate_expiry_seconds) return;
  to.gauge("ioc_exporter_tls_certificate_expiry_timestamp_seconds",
           "First expiry among the certificates that are served by TLS, in seconds since 1970.")
      .add({}, *config.certificate_expiry_seconds);
}

void add_limited(const std::vector<LimitedSample>& limited, Families& to) {
  auto& things = to.gauge("ioc_exporter_series_limited",
                          "Things without series of their own, since --limit allows no more: they "
                          "are summed under (other).");
  for (const LimitedSample& kind : limited)
    if (kind.things > 0) things.add({{"family", kind.family}}, kind.things);
}

void add_states(const std::vector<StateSample>& states, Families& to) {
  auto& failures = to.counter("ioc_exporter_state_failures_total",
                              "Files of --state.directory that could not be opened or read.");
  for (const StateSample& one : states) {
    if (one.open > 0) failures.add({{"state", one.state}, {"operation", "open"}}, one.open);
    if (one.read > 0) failures.add({{"state", one.state}, {"operation", "read"}}, one.read);
  }
}

void add_collectors(const std::vector<CollectorSample>& collectors, Families& to) {
  auto& duration = to.gauge("ioc_exporter_collector_duration_seconds",
                            "Time that the collector took for this scrape.");
  auto& success = to.flag("ioc_exporter_collector_success",
                          "Whether the collector was complete in this scrape.");
  for (const CollectorSample& collector : collectors) {
    duration.add({{"collector", collector.collector}}, collector.duration_seconds);
    success.add({{"collector", collector.collector}}, collector.success);
  }
}

void add_readers(const iocs::ReaderSample& readers, Families& to) {
  to.counter("ioc_exporter_readings_failed_total",
             "Readings of a process' memory or files that did not end in time (timeout).")
      .add({{"reason", "timeout"}}, readers.given_up);
  to.gauge("ioc_exporter_processes_unwatched",
           "Processes that are not read for a while, because a reading did not end in time.")
      .add({}, readers.unwatched);
}

void add_process(const ProcessStats& process, Families& to) {
  to.counter("process_cpu_seconds_total", "User and system CPU time of the exporter.")
      .add({}, process.cpu_seconds);
  if (process.open_fds)
    to.gauge("process_open_fds", "Open file descriptors of the exporter.")
        .add({}, *process.open_fds);
  to.gauge("process_max_fds", "File descriptors that the exporter may open.")
      .add({}, process.max_fds);
  to.gauge("process_virtual_memory_bytes", "Virtual memory of the exporter.")
      .add({}, process.virtual_memory_bytes);
  to.gauge("process_resident_memory_bytes", "Resident memory of the exporter.")
      .add({}, process.resident_memory_bytes);
  to.gauge("process_start_time_seconds", "When the exporter started, in seconds since 1970.")
      .add({}, process.start_time_seconds);
  to.gauge("epics_host_boot_time_seconds", "When the host was booted, in seconds since 1970.")
      .add({}, process.boot_time_seconds);
}

}  // namespace

std::vector<prometheus::MetricFamily> self_families(const SelfSamples& samples,
                                                    const ExporterInfo& exporter) {
  Families to;
  to.flag("ioc_exporter_detached",
          "Whether all probes were taken off by SIGUSR1 or POST /-/detach.")
      .add({}, samples.detached);
  add_build_info(exporter.build, to);
  to.add(samples.families);
  add_ioc_overhead(samples.ioc_overhead, to);
  add_probes(samples.probes, to);
  add_maps(samples.maps, to);
  if (samples.kernel_memory) add_kernel_memory(*samples.kernel_memory, to);
  add_drops(samples.drops, to);
  if (exporter.config) add_config(*exporter.config, to);
  add_limited(samples.limited, to);
  add_states(samples.states, to);
  add_collectors(samples.collectors, to);
  if (exporter.http) add_http(*exporter.http, to);
  if (exporter.loop_ticks)
    to.counter("ioc_exporter_loop_ticks_total", "Rounds of the loop over the collectors.")
        .add({}, *exporter.loop_ticks);
  if (exporter.readers) add_readers(*exporter.readers, to);
  if (exporter.time_seconds > 0)
    to.gauge("ioc_exporter_time_seconds", "The host's clock, in seconds since 1970.")
        .add({}, exporter.time_seconds);
  if (!exporter.area.empty() || !exporter.owner.empty())
    to.gauge("epics_host_info", "Area and owner of this host in the site's file. Always 1.")
        .add({{"area", exporter.area}, {"owner", exporter.owner}}, 1);
  if (exporter.process) add_process(*exporter.process, to);
  return to.take();
}

}  // namespace ioc_exporter::app
