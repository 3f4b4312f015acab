// The family of writes inside the IOCs.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/samples.h"

namespace ioc_exporter::records {

// Writes without a known client stand under client="": all of a source's less those of its clients.
void encode_record_puts(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
