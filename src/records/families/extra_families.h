// Families of scan lists and of asynchronous records.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

void encode_scan_lists(const std::vector<const IocSample*>& iocs,
                       const exposition::HistogramEdges& edges, exposition::Encoder& encoder);
// `edges` of kPutScale.
void encode_completions(const std::vector<const IocSample*>& iocs,
                        const exposition::HistogramEdges& edges, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
