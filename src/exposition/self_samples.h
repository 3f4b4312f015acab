// The exporter's own metrics as samples. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace ioc_exporter {

struct ProbeSample {
  std::string probe;                         // "record_process", "ca_tap"
  bool loaded = false;                       // its programs are in the kernel
  std::uint64_t attachments = 0;             // uprobes, or sockets, that feed it now
  std::optional<std::uint64_t> runs;         // of its programs; only while kernel.bpf_stats_enabled
  std::optional<std::uint64_t> run_time_ns;  // the same
};

// `stats`: of its programs, as the kernel has them.
template <class Stats>
ProbeSample probe_sample(std::string probe, bool loaded, std::uint64_t attachments,
                         const std::optional<Stats>& stats) {
  ProbeSample sample{std::move(probe), loaded, attachments, {}, {}};
  if (!stats) return sample;
  sample.runs = stats->runs;
  sample.run_time_ns = stats->run_time_ns;
  return sample;
}

struct MapSample {
  std::string map;
  std::uint64_t entries = 0;
  std::uint64_t capacity = 0;
};

// That a collector's maps take.
struct KernelMemorySample {
  std::uint64_t bytes = 0;
  std::uint64_t limit = 0;
};

// Counts by probe and reason.
using Drops = std::map<std::pair<std::string, std::string>, std::uint64_t>;

// Of the causes of an enumeration (bpf/shared/labelled_enum.h), by their reasons.
template <std::size_t kCauses>
void add_drops(Drops& to, const std::string& probe, const std::vector<std::uint64_t>& counts,
               const char* const (&reasons)[kCauses]) {
  for (std::size_t cause = 0; cause < kCauses && cause < counts.size(); ++cause)
    if (*reasons[cause] != '\0') to[{probe, reasons[cause]}] += counts[cause];
}

struct CollectorSample {
  std::string collector;  // "discovery", "records", "puts"
  bool success = false;
  double duration_seconds = 0;
};

struct LimitedSample {
  std::string family;  // "records", "puts", ...
  std::uint64_t things = 0;
};

// Seconds that a probe's programs, and the traps to them, took from the threads of an IOC.
struct IocOverheadSample {
  std::string ioc, probe;
  double seconds = 0;
};

// Of one kind of state that outlives the exporter: how often what failed.
struct StateSample {
  std::string state;  // "channels"
  std::uint64_t open = 0, read = 0;
};

// All of it, for one scrape.
struct SelfSamples {
  // Adds the samples of another collector.
  void add(SelfSamples more);
  void add(const Drops& more);

  std::vector<ProbeSample> probes;
  std::vector<MapSample> maps;
  Drops drops;
  std::optional<KernelMemorySample> kernel_memory = {};
  std::vector<CollectorSample> collectors;
  std::vector<LimitedSample> limited;
  std::vector<IocOverheadSample> ioc_overhead = {};
  std::vector<StateSample> states = {};                 // files that outlive the exporter
  std::vector<prometheus::MetricFamily> families = {};  // of one collector
  bool detached = false;                                // all probes were taken off by the operator
};

}  // namespace ioc_exporter
