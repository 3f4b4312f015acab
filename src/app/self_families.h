// Families about the exporter itself: ioc_exporter_* and process_*, in prometheus-cpp's model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/process_stats.h"
#include "exposition/self_samples.h"

namespace ioc_exporter::app {

// Labels of ioc_exporter_build_info.
struct BuildInfo {
  std::string version;
  std::string revision;  // of the source; "" when not known
  std::string compiler;
};

struct ExporterInfo {
  BuildInfo build;
  double time_seconds = 0;              // now, since 1970; 0: not shown
  std::string area, owner;              // of this host, as the site calls them
  std::optional<ProcessStats> process;  // without it there are no process_* families
};

// Samples with the same labels become one series: the sum of counts, the minimum of flags. Families
// without series are left out.
std::vector<prometheus::MetricFamily> self_families(const SelfSamples& samples,
                                                    const ExporterInfo& exporter);

}  // namespace ioc_exporter::app
