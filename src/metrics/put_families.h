// Families about Channel Access clients: epics_ca_*.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// Sorted by labels; puts with the same labels are one series, their sum.
void encode_puts(const std::vector<PutSample>& puts, Encoder& encoder);

}  // namespace ioc_exporter::metrics
