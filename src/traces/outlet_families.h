// What the exporter says of where traces go.
#pragma once

#include <span>

#include "exposition/encoder.h"
#include "traces/sink.h"

namespace ioc_exporter::traces {

void encode_outlets(std::span<const SinkSample> sinks, exposition::Encoder& encoder);

}  // namespace ioc_exporter::traces
