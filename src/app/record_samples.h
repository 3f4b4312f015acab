// From what the kernel counted by address to samples by record.
#pragma once

#include <vector>

#include "probes/put_client_totals.h"
#include "probes/record_process.h"
#include "probes/samples.h"

namespace ioc_exporter::app {

// In the database's order; addresses that the database does not have come last, as kUnknown.
std::vector<RecordSample> to_record_samples(std::vector<probes::RawRecord> raw,
                                            const Database& database);

// Index into the database's records; RecordSample::kUnknown: it has none at that address.
std::uint32_t record_index(const Database& database, std::uint64_t address);

std::vector<RecordPutClientSample> to_put_samples(const std::vector<probes::ClientPuts>& puts,
                                                  const Database& database);

}  // namespace ioc_exporter::app
