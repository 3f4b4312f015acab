// Families about what the IOCs' own variables say: epics_ioc_scan_*, epics_ioc_queue_*,
// epics_ioc_records_*, epics_ioc_threads_suspended.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// Of those that are up. What an IOC does not tell has no series.
void encode_ioc_memory(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
