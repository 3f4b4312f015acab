// What the exporter says of where events go.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "putlog/ring.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

void encode_outlets(const std::vector<SinkSample>& sinks, const FollowerSample& followers,
                    exposition::Encoder& encoder);

}  // namespace ioc_exporter::putlog
