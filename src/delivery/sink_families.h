// The families of sinks: of all that puts and traces go to.
#pragma once

#include <span>
#include <string_view>

#include "delivery/sink_sample.h"
#include "exposition/shared_families.h"

namespace ioc_exporter::delivery {

// `events`: what these sinks are given, "puts" or "traces".
void add_sinks(std::string_view events, std::span<const SinkSample> sinks,
               const exposition::Encoder& encoder, exposition::SharedFamilies& families);

}  // namespace ioc_exporter::delivery
