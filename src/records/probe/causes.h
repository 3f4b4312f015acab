// RecordCauses: what the record probes counted beyond each record's own numbers, read once for all
// IOCs of a scrape and handed out to their samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "records/families/samples.h"
#include "records/probe/process.h"
#include "records/timing/hit_cost.h"

namespace ioc_exporter::records {

class RecordCauses {
 public:
  static Result<RecordCauses> read(const RecordProcess& records);

  // Fills in what belongs to the IOC in `slot`; its database must be there.
  void add_to(std::uint32_t slot, IocSample& sample) const;
  // Seconds that its probes have taken from its threads. `cost`: of a hit.
  double seconds(std::uint32_t slot, const HitCost& cost) const;

 private:
  std::map<std::uint32_t, IocCounts> counts_;
  std::map<std::uint32_t, std::vector<RawCause>> causes_;
  std::map<std::uint32_t, std::vector<RawLink>> links_;
};

}  // namespace ioc_exporter::records
