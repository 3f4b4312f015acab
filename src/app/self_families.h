// Families about the exporter itself: ioc_exporter_* and process_*, in prometheus-cpp's model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/process_stats.h"
#include "exposition/self_samples.h"
#include "iocs/memory/reader_pool.h"

namespace ioc_exporter::app {

// Labels of ioc_exporter_build_info.
struct BuildInfo {
  std::string version;
  std::string revision;  // of the source; "" when not known
  std::string compiler;
};

struct ConfigSample {
  bool successful = false;
  double success_time_seconds = 0;                        // time of day of the last one that was
  std::optional<double> certificate_expiry_seconds = {};  // time of day; without TLS nothing
};

// HTTP requests that were refused, by reason; scrapes that were answered, and actions, by path.
struct HttpSample {
  std::map<std::string, std::uint64_t> refused, answered;
};

struct ExporterInfo {
  BuildInfo build;
  double time_seconds = 0;              // now, since 1970; 0: not shown
  std::string area, owner;              // of this host, as the site calls them
  std::optional<ProcessStats> process;  // without it there are no process_* families
  std::optional<ConfigSample> config = {};
  std::optional<HttpSample> http = {};
  std::optional<iocs::ReaderSample> readers = {};
  std::optional<std::uint64_t> loop_ticks = {};  // rounds over the collectors
};

// Samples with the same labels become one series: the sum of counts, the minimum of flags. Families
// without series are left out.
std::vector<prometheus::MetricFamily> self_families(const SelfSamples& samples,
                                                    const ExporterInfo& exporter);

}  // namespace ioc_exporter::app
