// Families of an IOC's process: CPU, threads, memory, descriptors, restarts.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// `iocs` have different names.
void encode_health(const std::vector<const IocSample*>& iocs, Encoder& encoder);

}  // namespace ioc_exporter::metrics
