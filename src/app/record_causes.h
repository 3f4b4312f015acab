// RecordCauses: what the record probes counted beyond each record's own numbers, read once for all
// IOCs of a scrape and handed out to their samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "probes/record_process.h"
#include "probes/samples.h"
#include "util/result.h"

namespace ioc_exporter::app {

class RecordCauses {
 public:
  static Result<RecordCauses> read(const probes::RecordProcess& records);

  // Fills in what belongs to the IOC in `slot`; its database must be there.
  void add_to(std::uint32_t slot, IocSample& sample) const;

 private:
  std::map<std::uint32_t, probes::IocCounts> counts_;
  std::map<std::uint32_t, std::vector<probes::RawCause>> causes_;
  std::map<std::uint32_t, std::vector<probes::RawLink>> links_;
};

// Index of the record at `address`, RecordSample::kUnknown when there is none.
std::uint32_t record_at(const Database& database, std::uint64_t address);

}  // namespace ioc_exporter::app
