// Families about Channel Access puts: what was written, by whom, with which outcome.
#pragma once

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// All sorted by labels; samples with the same labels are one series: their sum, or the latest time.
// `edges`: of kPutScale.
void encode_puts(const Snapshot& snapshot, const HistogramEdges& edges, Encoder& encoder);

}  // namespace ioc_exporter::metrics
