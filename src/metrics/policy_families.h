// Families about what the site's policy says of puts.
#pragma once

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

void encode_policy(const Snapshot& snapshot, Encoder& encoder);

}  // namespace ioc_exporter::metrics
