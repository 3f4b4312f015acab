// Completions of asynchronous records: attaches bpf/records/completion.bpf.h to the IOCs that have
// such records, and reads what it counts. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

class RecordCompletions {
 public:
  // Begins when the first record of the IOC was seen to be asynchronous; to be called again and
  // again. `point`: where recGblFwdLink is; `count`: records in the IOC's database.
  Result<void> follow(RecordProcess& records, std::uint32_t slot, const ProbePoint& point,
                      std::uint32_t count);
  Result<void> forget(RecordProcess& records, std::uint32_t slot);

  // By address, unsorted.
  Result<std::vector<std::pair<std::uint64_t, iocx_completion>>> of(std::uint32_t slot) const;

 private:
  std::map<std::uint32_t, OwnedCompletionsMap> maps_;  // by slot
};

}  // namespace ioc_exporter::records
