// Writes inside an IOC, as the metrics need them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "shared/record_puts.h"

namespace ioc_exporter {

inline constexpr std::size_t kPutSources = IOCX_PUT_SOURCES;
using PutCounts = std::array<std::uint64_t, kPutSources>;  // by enum iocx_put_source

// Those writes of one source to one record whose client is known. They are among the source's.
struct RecordPutClientSample {
  std::uint32_t record = UINT32_MAX;  // index into the database's records; UINT32_MAX: not known
  iocx_put_source source = IOCX_PUT_OTHER;
  std::string client;  // address without port
  std::uint64_t count = 0;
};

}  // namespace ioc_exporter
