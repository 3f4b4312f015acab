// The program and maps of bpf/tap/udp.bpf.c in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kernel/caps.h"
#include "kernel/map.h"
#include "puts/tap/tap_object.h"
#include "shared/ca_udp.h"

struct ca_udp_bpf;  // of libbpf

namespace ioc_exporter::puts {

struct CaUdpSizes {
  std::uint32_t max_clients = 4096;  // addresses that search
  std::uint32_t max_beacons = 4096;  // servers that send beacons
};

// Of bpf/tap/udp.bpf.c.
struct CaUdpMaps {
  kernel::MapView<iocx_ca_search_client, iocx_ca_search_count> clients;
  kernel::MapView<iocx_ca_search_key, iocx_ca_search> searches;
  kernel::MapView<iocx_ca_beacon_key, iocx_ca_beacon> beacons;
  kernel::MapView<std::uint32_t, std::uint32_t> enslaved_devices;  // by index
  kernel::MapView<std::uint32_t, std::uint64_t> counters;          // by enum iocx_ca_udp_drop
};

class CaUdpObject {
 public:
  // From then on, and while the object lives, the datagrams that the packet filters find are read:
  // those filters that share `maps` (TapObject's, which must outlive this one). `remote`: servers
  // on other hosts that answer clients of this one are watched, too. `searches`: searches and
  // beacons are counted, else servers are only learned; as TapObject::load() has it.
  static Result<CaUdpObject> load(const TapSharedMaps& maps, const CaUdpSizes& sizes, bool remote,
                                  bool searches);

  const CaUdpMaps& maps() const { return maps_; }
  const kernel::Caps& caps() const { return caps_; }

 private:
  struct Unload {
    int programs;  // of TapObject, where the program is entered; -1: it is not yet
    void operator()(ca_udp_bpf* skeleton) const;
  };

  explicit CaUdpObject(ca_udp_bpf* skeleton) : skeleton_(skeleton, Unload{-1}) {}
  Result<void> set_sizes(const CaUdpSizes& sizes) const;
  Result<void> share(const TapSharedMaps& with) const;
  Result<void> open_views();
  Result<void> enter(int into);

  std::unique_ptr<ca_udp_bpf, Unload> skeleton_;
  CaUdpMaps maps_;
  kernel::Caps caps_;
};

}  // namespace ioc_exporter::puts
