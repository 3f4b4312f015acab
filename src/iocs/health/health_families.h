// Families of an IOC's process: CPU, threads, memory, descriptors, restarts.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// `iocs` have different names.
void encode_health(const std::vector<const IocFacts*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::iocs
