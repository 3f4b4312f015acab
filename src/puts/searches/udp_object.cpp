#include "puts/searches/udp_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <string>
#include <utility>

#include "ca_udp.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/shares.h"

namespace ioc_exporter::ca {
namespace {

constexpr std::uint32_t kReader = IOCX_CA_PROGRAM_UDP;

struct SkeletonDeleter {
  void operator()(ca_udp_bpf* skeleton) const { ca_udp_bpf__destroy(skeleton); }
};

}  // namespace

struct CaUdpObject::Loaded {
  ~Loaded() {
    if (programs >= 0) bpf_map_delete_elem(programs, &kReader);
  }
  std::unique_ptr<ca_udp_bpf, SkeletonDeleter> skeleton;
  int programs = -1;  // of CaTapObject: where the program is entered
  CaUdpMaps views;
  kernel::Shares shares;

  Result<void> set_sizes(const CaUdpSizes& sizes) const;
  Result<void> share(const CaSharedMaps& with) const;
  Result<void> open_views();
  Result<void> enter(int into);
};

Result<void> CaUdpObject::Loaded::set_sizes(const CaUdpSizes& sizes) const {
  const auto& maps = skeleton->maps;
  const std::pair<bpf_map*, std::uint32_t> wanted[] = {{maps.ca_search_clients, sizes.max_clients},
                                                       {maps.ca_searches, sizes.max_searches},
                                                       {maps.ca_beacons, sizes.max_beacons}};
  for (const auto& [map, entries] : wanted)
    if (auto ok = kernel::size_map(map, entries); !ok) return ok;
  auto& bounds = skeleton->rodata->cfg_bounds;
  bounds[IOCX_CA_UDP_SHARE_CLIENTS] = kernel::usual_bound(sizes.max_clients);
  bounds[IOCX_CA_UDP_SHARE_SEARCHES] = kernel::usual_bound(sizes.max_searches);
  bounds[IOCX_CA_UDP_SHARE_BEACONS] = kernel::usual_bound(sizes.max_beacons);
  return {};
}

Result<void> CaUdpObject::Loaded::share(const CaSharedMaps& with) const {
  const auto& maps = skeleton->maps;
  const std::pair<bpf_map*, int> shared[] = {
      {maps.ca_work, with.work},        {maps.ca_drops, with.drops},
      {maps.ca_watched, with.watched},  {maps.ca_ports, with.ports},
      {maps.ca_servers, with.servers},  {maps.ca_local, with.local},
      {maps.ca_programs, with.programs}};
  for (const auto& [map, fd] : shared)
    if (auto ok = kernel::share_map(map, fd, "ca_udp"); !ok) return ok;
  return {};
}

Result<void> CaUdpObject::Loaded::open_views() {
  const auto& maps = skeleton->maps;
  if (auto ok = kernel::open_view(views.clients, maps.ca_search_clients); !ok) return ok;
  if (auto ok = kernel::open_view(views.searches, maps.ca_searches); !ok) return ok;
  if (auto ok = kernel::open_view(views.beacons, maps.ca_beacons); !ok) return ok;
  if (auto ok = kernel::open_view(views.enslaved_devices, maps.ca_lower_devices); !ok) return ok;
  auto taken = kernel::Shares::map(bpf_map__fd(maps.ca_udp_shares), IOCX_CA_UDP_HOLDERS,
                                   bpf_map__name(maps.ca_udp_shares), skeleton->rodata->cfg_bounds);
  if (!taken) return std::move(taken).error();
  shares = std::move(*taken);
  return kernel::open_view(views.counters, maps.ca_udp_drops);
}

Result<void> CaUdpObject::Loaded::enter(int into) {
  const int program = bpf_program__fd(skeleton->progs.ca_udp);
  const int err = bpf_map_update_elem(into, &kReader, &program, BPF_ANY);
  if (err < 0) return kernel::libbpf_error(err, "enter BPF program ca_udp into ca_programs");
  programs = into;
  return {};
}

CaUdpObject::CaUdpObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaUdpObject::CaUdpObject(CaUdpObject&&) noexcept = default;
CaUdpObject& CaUdpObject::operator=(CaUdpObject&&) noexcept = default;
CaUdpObject::~CaUdpObject() = default;

Result<CaUdpObject> CaUdpObject::load(const CaSharedMaps& maps, const CaUdpSizes& sizes,
                                      bool remote) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ca_udp_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_udp");
  loaded->skeleton->rodata->cfg_remote = remote ? 1 : 0;
  if (auto ok = loaded->set_sizes(sizes); !ok) return ok.error();
  if (auto ok = loaded->share(maps); !ok) return ok.error();
  if (const int err = ca_udp_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_udp");
  if (auto ok = loaded->open_views(); !ok) return ok.error();
  if (auto ok = loaded->enter(maps.programs); !ok) return ok.error();
  return CaUdpObject(std::move(loaded));
}

const CaUdpMaps& CaUdpObject::maps() const {
  return loaded_->views;
}

void CaUdpObject::give_share(iocx_ca_udp_share_of table, const iocx_ca_udp_holder& holder) const {
  loaded_->shares.give(table, holder.one, holder.group);
}

}  // namespace ioc_exporter::ca
