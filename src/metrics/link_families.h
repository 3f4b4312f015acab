// The family of the links from record to record, and of nothing else.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// Links from or to records whose names are not known are summed under "".
void encode_links(const std::vector<const IocSample*>& iocs, Encoder& encoder);

}  // namespace ioc_exporter::metrics
