// The programs and maps of bpf/puts/ca_witness.bpf.c in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <array>
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
#include "shared/ca_witness.h"

namespace ioc_exporter::ca {

inline constexpr const char* kServerProbe = "ca_server_probe";  // the label `probe`

// Programs by the function that they are for; write and notify count puts, the others tell what
// became of them.
enum class WitnessProgram : std::uint8_t { write, notify, error, start, done, cancel };
inline constexpr std::array kWitnessFunctions{
    "write_action",    "write_notify_action",        "send_err",
    "dbProcessNotify", "write_notify_done_callback", "dbNotifyCancel"};

struct WitnessMaps {
  kernel::MapView<std::uint32_t, iocx_witness_ioc> iocs;  // by process id
  kernel::MapView<iocx_witness_key, std::uint32_t> slots;
  kernel::MapView<std::uint32_t, iocx_witness_info> info;            // by slot
  kernel::MapView<std::uint32_t, iocx_witness_durations> durations;  // by slot
  kernel::MapView<std::uint32_t, iocx_witness_rest> rest;            // by generation
  kernel::MapView<std::uint32_t, std::uint64_t> drops;  // per CPU, by enum iocx_witness_drop
};

// Code in a file that a program is to run at the entry of.
struct WitnessPlace {
  int file = -1;           // its descriptor
  std::string shown_path;  // as an IOC sees it, for messages
  std::uint64_t offset = 0;
  std::int32_t pid = 0;  // the process in which it is to run, or kAllProcesses
};

// Loaded programs; nothing is counted before attach().
class CaWitnessObject {
 public:
  // `slots`: who writes to what, some 600 bytes each. `ring`: for the put log's events.
  static Result<CaWitnessObject> load(std::uint32_t slots, const kernel::RingUse& ring = {},
                                      const kernel::TraceUse& traces = {});
  CaWitnessObject(CaWitnessObject&&) noexcept;
  CaWitnessObject& operator=(CaWitnessObject&&) noexcept;
  ~CaWitnessObject();

  static constexpr std::int32_t kAllProcesses = -1;
  // Detached when the descriptor is closed. Processes that the map `iocs` does not name are left
  // out.
  Result<UniqueFd> attach(WitnessProgram program, const WitnessPlace& place) const;
  // HelperRequest::what of those that are for serve().
  static constexpr std::uint32_t kRequest = 16;
  // From now on `helper` attaches, which is to call serve() and has the rights for it.
  void use_helper(std::shared_ptr<Helper> helper);
  // In the helper, which trusts no number that it is sent.
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file) const;

  const WitnessMaps& maps() const;
  std::uint32_t max_slots() const;
  // As the program writes them, max_slots() of them: use atomic operations.
  const iocx_witness_channel* channels() const;
  // The same of results.
  iocx_witness_result* results() const;
  // Slots that are not free, at least: one is counted before it is taken.
  std::uint64_t held() const;
  // From now on no put finds the slot that had no other way to it than its key.
  void give_up(std::uint32_t slot) const;
  // Zeroes a slot that the program no longer uses, and lets it be taken again.
  Result<void> give_slot(std::uint32_t slot) const;
  std::optional<kernel::ProgramStats> stats() const;
  // Of the put log, so far.
  kernel::LostEvents lost_events() const;

 private:
  struct Loaded;
  explicit CaWitnessObject(std::unique_ptr<Loaded> loaded);
  Result<UniqueFd> attach_here(WitnessProgram program, int file, std::uint64_t offset,
                               std::int32_t pid) const;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::ca
