// From what the kernel counted by address to samples by record.
#pragma once

#include <vector>

#include "probes/record_process.h"
#include "probes/samples.h"

namespace ioc_exporter::app {

// In the database's order; addresses that the database does not have come last, as kUnknown.
std::vector<RecordSample> to_record_samples(std::vector<probes::RawRecord> raw,
                                            const Database& database);

}  // namespace ioc_exporter::app
