// Approximate memory of a trace, by which queues and the ring are bounded.
#pragma once

#include <cstddef>

#include "traces/trace.h"

namespace ioc_exporter::traces {

std::size_t footprint(const Trace& trace);

}  // namespace ioc_exporter::traces
