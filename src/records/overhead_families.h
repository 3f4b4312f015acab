// Families about what the record probes cost the IOCs: in prometheus-cpp's model.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

#include "base/samples.h"

namespace ioc_exporter::records {

// Families without series are not among them.
std::vector<prometheus::MetricFamily> overhead_families(const Snapshot& snapshot);

}  // namespace ioc_exporter::records
