// What /metrics says of sinks.
#pragma once

#include <span>

#include "delivery/sink.h"
#include "exposition/encoder.h"

namespace ioc_exporter::delivery {

// With the label `sink`, and `dropped` with `reason` too.
struct SinkFamilies {
  exposition::Family delivered, filtered, dropped, waiting, failures;
};

void encode_sinks(const SinkFamilies& families, std::span<const SinkSample> sinks,
                  exposition::Encoder& encoder);

}  // namespace ioc_exporter::delivery
