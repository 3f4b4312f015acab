// Writes inside an IOC, as the metrics need them.
#pragma once

#include <array>
#include <cstdint>

#include "shared/record_puts.h"

namespace ioc_exporter {

inline constexpr std::size_t kPutSources = IOCX_PUT_SOURCES;
using PutCounts = std::array<std::uint64_t, kPutSources>;  // by enum iocx_put_source

}  // namespace ioc_exporter
