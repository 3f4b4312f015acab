// The programs and maps of bpf/puts/pva_witness.bpf.c in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "shared/pva_witness.h"

namespace ioc_exporter::pva {

struct PvaMaps {
  kernel::MapView<std::uint32_t, iocx_pva_ioc> iocs;  // by process id
  kernel::MapView<iocx_pva_key, iocx_pva_put> puts;
  kernel::MapView<std::uint32_t, std::uint64_t> drops;  // per CPU, by enum iocx_pva_drop
};

// Where a function is, by its index in iocs::Inspector::pva_put_functions().
struct PvaPlace {
  int file = -1;           // its descriptor
  std::string shown_path;  // as an IOC sees it, for messages
  std::uint32_t function = 0;
  std::uint64_t offset = 0;
  std::int32_t pid = 0;  // the process in which the program is to run
};

// Loaded programs; nothing is counted before attach().
class PvaWitnessObject {
 public:
  // `ring`: for the put log's events.
  static Result<PvaWitnessObject> load(const kernel::RingUse& ring = {},
                                       const kernel::TraceUse& traces = {});
  PvaWitnessObject(PvaWitnessObject&&) noexcept;
  PvaWitnessObject& operator=(PvaWitnessObject&&) noexcept;
  ~PvaWitnessObject();

  // Detached when the descriptor is closed. Processes that the map `iocs` does not name are left
  // out.
  Result<UniqueFd> attach(const PvaPlace& place) const;
  // HelperRequest::what of those that are for serve().
  static constexpr std::uint32_t kRequest = 32;
  // From now on `helper` attaches, which is to call serve() and has the rights for it.
  void use_helper(std::shared_ptr<Helper> helper);
  // In the helper, which trusts no number that it is sent.
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file) const;

  const PvaMaps& maps() const;
  // Of pva_holders, as the program writes them: use atomic operations.
  iocx_pva_holder* holders() const;
  std::optional<kernel::ProgramStats> stats() const;
  // Of the put log, so far.
  kernel::LostEvents lost_events() const;

 private:
  struct Loaded;
  explicit PvaWitnessObject(std::unique_ptr<Loaded> loaded);
  Result<UniqueFd> attach_here(const PvaPlace& place) const;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::pva
