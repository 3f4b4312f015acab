// prometheus-cpp's families through our encoders.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

// Encodes a counter, gauge or untyped family; its timestamps are left out (a scrape sets them).
// False, with nothing encoded: a histogram or summary, whose shape the encoders do not take.
[[nodiscard]] bool encode(const prometheus::MetricFamily& family, Encoder& encoder);

// Of counters and gauges only.
void encode_all(const std::vector<prometheus::MetricFamily>& families, Encoder& encoder);

}  // namespace ioc_exporter::exposition
