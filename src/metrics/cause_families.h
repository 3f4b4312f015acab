// Families of why records processed, and of the changes of their severity.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

void encode_causes(const std::vector<const IocSample*>& iocs, Encoder& encoder);

}  // namespace ioc_exporter::metrics
