// Which record processed which, through its links: plain samples.
#pragma once

#include <cstdint>

namespace ioc_exporter {

// Counts since the exporter first saw the IOC's records.
struct RecordLinkSample {
  std::uint32_t source = 0;  // indices into the database's records; UINT32_MAX: name not known
  std::uint32_t record = 0;
  std::uint64_t count = 0;  // times that `source` made `record` process
};

}  // namespace ioc_exporter
