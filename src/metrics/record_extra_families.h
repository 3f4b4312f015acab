// Families of scan lists and of asynchronous records.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

void encode_scan_lists(const std::vector<const IocSample*>& iocs, Encoder& encoder);
// `edges` of kPutScale.
void encode_completions(const std::vector<const IocSample*>& iocs, const HistogramEdges& edges,
                        Encoder& encoder);

}  // namespace ioc_exporter::metrics
