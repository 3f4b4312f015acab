// Families about Channel Access puts: what was written, by whom, with which outcome.
#pragma once

#include <vector>

#include "ca/samples.h"
#include "exposition/encoder.h"

namespace ioc_exporter::ca {

// All sorted by labels; samples with the same labels are one series: their sum, or the latest time.
// `edges`: of kPutScale.
void encode_puts(const CaSamples& samples, const exposition::HistogramEdges& edges,
                 exposition::Encoder& encoder);

// When each client wrote to each PV last, where that is known; as above.
void encode_last_times(const exposition::Family& family, const std::vector<PutSample>& puts,
                       exposition::Encoder& encoder);

}  // namespace ioc_exporter::ca
