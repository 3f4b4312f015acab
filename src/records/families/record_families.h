// Families about records: epics_record_*.
#pragma once

#include <string_view>
#include <vector>

#include "exposition/encoder.h"
#include "records/families/labels.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

inline constexpr std::string_view kProcessDurations = "epics_record_process_duration_seconds";

// For all IOCs that are up. A record that was never processed has its info and a process_total of 0
// (so that increase() sees the first processing) and nothing else. `edges`: of kProcessScale.
void encode_records(const std::vector<const IocSample*>& iocs,
                    const exposition::HistogramEdges& edges, LabelCache& cache,
                    exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
