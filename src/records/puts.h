// Whose writes they are: follows the threads that serve one client each, for the writes that
// bpf/records/puts.bpf.h counts by thread. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "records/process_object.h"
#include "records/put_client_totals.h"

namespace ioc_exporter::records {

class RecordPuts {
 public:
  explicit RecordPuts(RootedFs fs) : fs_(std::move(fs)) {}

  // Takes in what the kernel has counted, and looks for the clients of new threads. `pids`: of the
  // IOCs that are watched, by slot. `shown`: see PutClientTotals; to be called so before the counts
  // by record are read, which these are parts of.
  Result<void> follow(const RecordMaps& maps, const std::map<std::uint32_t, pid_t>& pids,
                      bool shown);
  // The IOC is gone.
  Result<void> forget(const RecordMaps& maps, std::uint32_t slot);

  std::vector<ClientPuts> of(std::uint32_t slot) const { return totals_.of(slot); }
  std::uint64_t over_limit() const { return totals_.over_limit(); }

 private:
  using Counts = std::vector<std::pair<iocx_put_client_key, std::uint64_t>>;
  Result<void> follow_ioc(const RecordMaps& maps, std::uint32_t slot, pid_t pid,
                          const Counts& counts, bool shown);
  Result<void> count_ended(const RecordMaps& maps, const iocx_put_client_key& key,
                           const std::string& client);

  RootedFs fs_;
  PutClientTotals totals_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::string>> clients_;  // by slot and thread
};

}  // namespace ioc_exporter::records
