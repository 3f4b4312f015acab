// Families about records: epics_record_*.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "metrics/record_labels.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// Of all that are up. A record that was never processed has its info and a process_total of 0 (so
// that increase() sees the first processing) and nothing else. `edges`: of kProcessScale.
void encode_records(const std::vector<const IocSample*>& iocs, const HistogramEdges& edges,
                    LabelCache& cache, Encoder& encoder);

}  // namespace ioc_exporter::metrics
