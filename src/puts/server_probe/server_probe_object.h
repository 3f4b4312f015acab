// The programs and maps of a server probe (bpf/puts) in the kernel. Hides libbpf and the skeletons.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "elf/attacher.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "puts/server_probe/server_functions.h"
#include "shared/server_probe.h"

struct ca_server_probe_bpf;  // of libbpf
struct pva_server_probe_bpf;

namespace ioc_exporter::puts {

// The label `probe`.
inline constexpr const char* kCaServerProbe = "ca_server_probe";
inline constexpr const char* kPvaServerProbe = "pva_server_probe";

struct ServerProbeMaps {
  kernel::MapView<std::uint32_t, iocx_server_ioc> iocs;             // by process id
  kernel::MapView<std::uint32_t, iocx_server_remainder> remainder;  // by generation
  kernel::MapView<std::uint32_t, std::uint64_t> drops;              // per CPU
  // By slot.
  kernel::MapView<std::uint32_t, iocx_server_durations> durations;
  // Puts with callback that wait, but those of rsrv.
  kernel::MapView<iocx_open_callback_key, iocx_open_callback> open_callbacks;
  // Index and facts of slots, of one protocol.
  kernel::MapView<iocx_ca_server_key, std::uint32_t> ca_slots;
  kernel::MapView<std::uint32_t, iocx_ca_server_info> ca_info;
  kernel::MapView<iocx_pva_key, std::uint32_t> pva_slots;
  kernel::MapView<std::uint32_t, iocx_pva_key> pva_info;
};

// Loaded programs; nothing is counted before they are attached.
class ServerProbeObject {
 public:
  struct Options {
    Protocol protocol = Protocol::ca;
    std::uint32_t slots = 0;    // pairs of client and channel, some 600 bytes each
    kernel::RingUse ring = {};  // for the put log's events
    kernel::TraceUse traces = {};
  };
  static Result<ServerProbeObject> load(const Options& options);

  Protocol protocol() const { return ca_ ? Protocol::ca : Protocol::pva; }
  // The label `probe`.
  static const char* name_of(Protocol protocol) {
    return protocol == Protocol::ca ? kCaServerProbe : kPvaServerProbe;
  }
  const char* name() const { return name_of(protocol()); }

  // Of the programs by ServerFunction::number. Processes that the map `iocs` does not name are left
  // out.
  elf::Attacher& attacher() const { return *attacher_; }

  // To be set before there are attachments for all processes, and until they are gone.
  void look_at_kinds(bool look) const;

  const ServerProbeMaps& maps() const { return maps_; }
  std::uint32_t max_slots() const { return options_.slots; }
  // As the program writes them, max_slots() of them: use atomic operations.
  iocx_server_slot* slots() const { return static_cast<iocx_server_slot*>(slots_.data()); }
  iocx_server_result* results() const { return static_cast<iocx_server_result*>(results_.data()); }
  // Slots that are not free, at least: one is counted before it is taken. `holder`: index into
  // slots_held.
  std::uint64_t held(std::uint32_t holder = IOCX_HELD_ALL) const {
    return __atomic_load_n(&counts()[holder], __ATOMIC_ACQUIRE);
  }
  // There are open put-callbacks: each is counted as soon as it is in the map.
  bool has_callbacks() const;
  // Its end will not be seen.
  Result<void> forget_callback(const iocx_open_callback_key& key) const;
  // Takes its key away: from now on no put finds the slot.
  Result<void> give_up(std::uint32_t slot) const;
  // Zeroes a slot that the program no longer uses, and lets it be taken again.
  Result<void> give_slot(std::uint32_t slot) const;
  std::optional<kernel::ProgramStats> stats() const;
  // Of the put log, so far.
  kernel::LostEvents lost_events() const;
  bool has_put_log() const { return options_.ring.fd >= 0; }

 private:
  struct Unload {
    void operator()(ca_server_probe_bpf* skeleton) const;
    void operator()(pva_server_probe_bpf* skeleton) const;
  };

  explicit ServerProbeObject(const Options& options) : options_(options) {}
  template <class Use>
  auto with_skeleton(Use use) const;
  Result<void> load_ca();
  Result<void> load_pva();
  Result<void> open_views();
  Result<void> push_free(std::uint32_t slot) const;
  std::uint64_t* counts() const { return static_cast<std::uint64_t*>(held_.data()); }
  void give_back(std::uint32_t holder) const {
    __atomic_fetch_sub(&counts()[holder], 1, __ATOMIC_RELAXED);
  }

  Options options_;
  // One of them.
  std::unique_ptr<ca_server_probe_bpf, Unload> ca_;
  std::unique_ptr<pva_server_probe_bpf, Unload> pva_;
  std::unique_ptr<elf::Attacher> attacher_;  // goes before the skeleton
  kernel::MapMemory slots_, results_, held_;
  ServerProbeMaps maps_;
};

}  // namespace ioc_exporter::puts
