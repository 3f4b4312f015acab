// ExtraProbes: what is seen of the watched IOCs besides dbProcess itself: periodic scan lists,
// completions of asynchronous records. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/wall_clock.h"
#include "records/families/samples.h"
#include "records/probe/completions.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

class ExtraProbes {
 public:
  struct Watched {
    std::uint32_t slot = 0;
    std::optional<ProbePoint> completion;  // where its records complete
    std::uint32_t records = 0;
  };

  // `records` may be null: then there is nothing.
  explicit ExtraProbes(RecordProcess* records) : records_(records) {}

  // A look now and then, at all watched IOCs.
  Result<void> look(const std::vector<Watched>& watched);
  // Before the counts of a page are read.
  Result<void> begin_page();
  Result<void> add_to(IocSample& sample, std::uint32_t slot) const;
  // The IOC is gone.
  Result<void> forget(std::uint32_t slot);

 private:
  RecordProcess* records_;
  RecordCompletions completions_;
  WallClock wall_clock_;
  std::map<std::uint32_t, std::vector<iocx_scan_list>> scan_lists_;  // by slot, for the page
};

}  // namespace ioc_exporter::records
