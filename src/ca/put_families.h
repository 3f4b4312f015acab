// Families about Channel Access puts: what was written, by whom, with which outcome.
#pragma once

#include <string_view>
#include <vector>

#include "ca/samples.h"
#include "exposition/encoder.h"

namespace ioc_exporter::ca {

// All sorted by labels; samples with the same labels are one series: their sum, or the latest time.
// `edges`: of kPutScale.
void encode_puts(const CaSamples& samples, const exposition::HistogramEdges& edges,
                 exposition::Encoder& encoder);

// Puts with the last of each as an exemplar, and those that failed; of one protocol, as above.
// `op`: the label of all puts, "" = by PutSample::op.
void encode_put_counts(const exposition::Family& family, const std::vector<PutSample>& puts,
                       std::string_view op, exposition::Encoder& encoder);
void encode_put_failures(const exposition::Family& family,
                         const std::vector<PutFailureSample>& failures,
                         exposition::Encoder& encoder);

// When each client wrote to each PV last, where that is known; as above.
void encode_last_times(const exposition::Family& family, const std::vector<PutSample>& puts,
                       exposition::Encoder& encoder);

}  // namespace ioc_exporter::ca
