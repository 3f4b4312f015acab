// The programs and maps of bpf/tap/tap.bpf.c in the kernel. Hides libbpf and the skeleton.
// PacketTap feeds them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernel/caps.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "puts/server_key.h"
#include "shared/ca_tap.h"

struct ca_tap_bpf;  // of libbpf

namespace ioc_exporter::puts {

// The lock that the loaded program takes. `choose` asks the kernel for compare-and-swap (5.12) and
// takes map_insert where it has none; the others are for tests.
enum class TapLock { choose, compare_and_swap, map_insert };

struct TapSizes {
  std::uint32_t max_servers = 16384;  // listening address and port pairs
  // About 1 KiB of kernel memory for each that is there. For each four, one more that is only asked
  // for is remembered.
  std::uint32_t max_circuits = 65536;
  std::uint32_t max_channels = 131072;  // 64 bytes each at once, 700 more for each in use
  std::uint32_t max_pending = 16384;    // WRITE_NOTIFYs that wait for their answers; 100 bytes each
  std::uint32_t max_outcomes = 16384;   // channels with WRITE_NOTIFYs; 1 KiB for each that is there
  std::uint32_t max_failures = 65536;   // channels with failed puts, by status
  // 19 KiB each at once. A direction of a connection uses one or more while a segment of it is
  // missing. A client gets half of them: 6 MiB, a connection 4.
  std::uint32_t max_pages = 768;
  std::uint32_t max_searches = 16384;  // names that clients search for; 200 bytes each
};

// Descriptors of the maps that ca_tap shares with the other objects of the tap
// (bpf/tap/segment.bpf.h, bpf/tap/servers.bpf.h). Not owned.
struct TapSharedMaps {
  int work = -1;
  int drops = -1;
  int programs = -1;
  int watched = -1;
  int ports = -1;
  int servers = -1;
  int local = -1;
  int searches = -1;
};

// Of bpf/tap/tap.bpf.c.
struct TapMaps {
  kernel::MapView<std::uint32_t, std::uint32_t> ports;
  kernel::MapView<iocx_ca_server, std::uint32_t> servers;
  kernel::MapView<iocx_ca_local_route, std::uint32_t> local;
  kernel::MapView<iocx_ca_flow_key, iocx_ca_flow> flows;
  kernel::MapView<iocx_ca_channel_key, std::uint32_t> sids;
  kernel::MapView<iocx_ca_channel_key, iocx_ca_cid> cids;
  kernel::MapView<std::uint64_t, iocx_ca_channel_info> channel_info;
  kernel::MapView<iocx_ca_channel_key, iocx_ca_pending> pending;
  kernel::MapView<std::uint64_t, iocx_ca_outcome> outcomes;
  kernel::MapView<iocx_ca_failure_key, iocx_ca_failure> failures;
  kernel::MapView<std::uint32_t, std::uint64_t> drops;
};

// With the server.
using ProbedPorts = std::set<std::pair<std::uint16_t, ServerKey>>;

// Loaded programs and their maps; no packet is looked at before PacketTap opens its socket.
class TapObject {
 public:
  // `remote_servers`: the programs also read what this host's clients send elsewhere. `searches`:
  // they note which names that clients search for are found.
  // `ring`: for the put log's events.
  static Result<TapObject> load(const TapSizes& sizes, TapLock lock = TapLock::choose,
                                bool remote_servers = false, bool searches = false,
                                const kernel::RingUse& ring = {});

  TapSharedMaps shared_maps() const;

  // Of the put log: events that were lost, and answers, so far.
  kernel::LostEvents lost_events() const;
  // Tap::set_probed_ports().
  void set_probed_ports(const ProbedPorts& ports) const;
  const TapMaps& maps() const { return maps_; }

  // Ports that the programs watch. Written with atomic operations, by the
  // inserter of the port into maps().ports.
  iocx_ca_port_set& watched_ports() const {
    return *static_cast<iocx_ca_port_set*>(watched_.data());
  }
  // The slots of channels, max_channels of them, as the program writes them: use atomic operations.
  iocx_ca_channel* channels() const { return static_cast<iocx_ca_channel*>(channels_.data()); }
  // Zeroes a slot that the program no longer uses and lets it be used again. `holder`: who
  // held it.
  Result<void> give_slot(std::uint32_t slot, std::uint32_t holder) const;

  // Of enum iocx_ca_table. For entries that user space makes or removes.
  const kernel::Caps& caps() const { return caps_; }
  // The connection was taken out of its map: it waits for no acknowledgements any more.
  void stop_waiting(const iocx_ca_flow& flow) const;
  // Directions of connections that wait for acknowledgements: while there are none, the programs
  // skip mere ones.
  std::uint32_t waiting() const;

  // Owners of the pages of early segments, max_pages of them, as the program writes them.
  iocx_ca_page_owner* page_owners() const {
    return static_cast<iocx_ca_page_owner*>(page_owners_.data());
  }
  // Lets a page be used again whose connection is gone.
  Result<void> give_page(std::uint32_t page) const;

  // Takes a flow out of its map; nothing when it is not there. On kernels before 5.14, which cannot
  // take from a hash at once, a look-up and a deletion.
  Result<std::optional<iocx_ca_flow>> take_flow(const iocx_ca_flow_key& key) const;

  std::uint32_t max_channels() const { return sizes_.max_channels; }
  std::uint32_t max_pages() const { return sizes_.max_pages; }

 private:
  struct Unload {
    void operator()(ca_tap_bpf* skeleton) const;
  };

  TapObject(const TapSizes& sizes, ca_tap_bpf* skeleton) : sizes_(sizes), skeleton_(skeleton) {}
  void set_caps() const;
  Result<void> set_sizes() const;
  Result<void> open_views();
  Result<void> map_into_memory();

  TapSizes sizes_;
  std::unique_ptr<ca_tap_bpf, Unload> skeleton_;
  kernel::MapMemory channels_, watched_, page_owners_;
  kernel::Caps caps_;
  TapMaps maps_;
};

}  // namespace ioc_exporter::puts
