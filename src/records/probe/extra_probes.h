// ExtraProbes: what is seen of the watched IOCs besides dbProcess itself: periodic scan lists,
// completions of asynchronous records. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/wall_clock.h"
#include "records/families/samples.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

// RecordCauses: what the record probes counted beyond each record's own numbers, read once for all
// IOCs of a scrape and handed out to their samples.
class RecordCauses {
 public:
  static Result<RecordCauses> read(const RecordProcess& records);

  // Fills in what belongs to the IOC in `slot`; its database must be there.
  void add_to(std::uint32_t slot, IocSample& sample) const;
  ProbeHits hits(std::uint32_t slot) const;

 private:
  std::map<std::uint32_t, IocCounts> counts_;
  std::map<std::uint32_t, std::vector<RawCause>> causes_;
};

class ExtraProbes {
 public:
  struct Watched {
    std::uint32_t slot = 0;
    std::uint32_t records = 0;
  };

  explicit ExtraProbes(RecordProcess& records) : records_(records) {}

  // Now and then, of all watched IOCs: attaches bpf/records/completion.bpf.h to those whose
  // first record was seen to be asynchronous.
  Result<void> read(const std::vector<Watched>& watched);
  // Before the counts of a page are read.
  Result<void> begin_page();
  Result<void> add_to(IocSample& sample, std::uint32_t slot) const;
  // The IOC is gone.
  Result<void> forget(std::uint32_t slot);

 private:
  Result<void> follow_completions(const Watched& watched);
  Result<void> forget_completions(std::uint32_t slot);

  RecordProcess& records_;
  std::map<std::uint32_t, OwnedCompletionsMap> completions_;  // by slot
  WallClock wall_clock_;
  std::map<std::uint32_t, std::vector<iocx_scan_list>> scan_lists_;  // by slot, for the page
};

}  // namespace ioc_exporter::records
