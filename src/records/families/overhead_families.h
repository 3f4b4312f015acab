// Families about what the record probes cost the IOCs: in prometheus-cpp's model.
#pragma once

#include <optional>
#include <vector>

#include <prometheus/metric_family.h>

#include "records/families/samples.h"

namespace ioc_exporter::records {

// Families without series are not among them.
std::vector<prometheus::MetricFamily> overhead_families(const std::vector<const IocSample*>& iocs,
                                                        const std::optional<double>& empty_probe);

}  // namespace ioc_exporter::records
