#include "puts/searches/udp_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <string>
#include <utility>

#include "ca_udp.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::uint32_t kReader = IOCX_CA_PROGRAM_UDP;

}  // namespace

void CaUdpObject::Unload::operator()(ca_udp_bpf* skeleton) const {
  if (programs >= 0) bpf_map_delete_elem(programs, &kReader);
  ca_udp_bpf__destroy(skeleton);
}

Result<void> CaUdpObject::set_sizes(const CaUdpSizes& sizes) const {
  const auto& maps = skeleton_->maps;
  const std::pair<bpf_map*, std::uint32_t> wanted[] = {{maps.ca_search_clients, sizes.max_clients},
                                                       {maps.ca_beacons, sizes.max_beacons}};
  for (const auto& [map, entries] : wanted)
    if (auto ok = kernel::size_map(map, entries); !ok) return ok;
  skeleton_->rodata->cfg_caps[IOCX_CA_UDP_HELD_CLIENTS] = iocx_cap(sizes.max_clients);
  skeleton_->rodata->cfg_caps[IOCX_CA_UDP_HELD_BEACONS] = iocx_cap(sizes.max_beacons);
  return {};
}

Result<void> CaUdpObject::share(const TapSharedMaps& with) const {
  const auto& maps = skeleton_->maps;
  const std::pair<bpf_map*, int> shared[] = {
      {maps.ca_work, with.work},         {maps.ca_drops, with.drops},
      {maps.ca_watched, with.watched},   {maps.ca_ports, with.ports},
      {maps.ca_servers, with.servers},   {maps.ca_local, with.local},
      {maps.ca_programs, with.programs}, {maps.ca_searches, with.searches}};
  for (const auto& [map, fd] : shared)
    if (auto ok = kernel::share_map(map, fd, "ca_udp"); !ok) return ok;
  skeleton_->rodata->cfg_caps[IOCX_CA_UDP_HELD_SEARCHES] =
      iocx_cap(bpf_map__max_entries(maps.ca_searches));
  return {};
}

Result<void> CaUdpObject::open_views() {
  const auto& maps = skeleton_->maps;
  if (auto ok = kernel::open_view(maps_.clients, maps.ca_search_clients); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.searches, maps.ca_searches); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.beacons, maps.ca_beacons); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.enslaved_devices, maps.ca_lower_devices); !ok) return ok;
  if (auto ok = kernel::map_caps(caps_, maps.ca_udp_held, skeleton_->rodata->cfg_caps); !ok)
    return ok;
  return kernel::open_view(maps_.counters, maps.ca_udp_drops);
}

Result<void> CaUdpObject::enter(int into) {
  const int program = bpf_program__fd(skeleton_->progs.ca_udp);
  const int err = bpf_map_update_elem(into, &kReader, &program, BPF_ANY);
  if (err < 0) return kernel::libbpf_error(err, "enter BPF program ca_udp into ca_programs");
  skeleton_.get_deleter().programs = into;
  return {};
}

Result<CaUdpObject> CaUdpObject::load(const TapSharedMaps& maps, const CaUdpSizes& sizes,
                                      bool remote, bool searches) {
  kernel::capture_libbpf_messages();
  CaUdpObject object(ca_udp_bpf__open());
  if (!object.skeleton_) return kernel::libbpf_error(-errno, "open BPF object ca_udp");
  object.skeleton_->rodata->cfg_remote = remote ? 1 : 0;
  object.skeleton_->rodata->cfg_searches = searches ? 1 : 0;
  if (searches)
    if (auto ok = object.set_sizes(sizes); !ok) return ok.error();
  if (auto ok = object.share(maps); !ok) return ok.error();
  if (const int err = ca_udp_bpf__load(object.skeleton_.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_udp");
  if (auto ok = object.open_views(); !ok) return ok.error();
  if (auto ok = object.enter(maps.programs); !ok) return ok.error();
  return object;
}

}  // namespace ioc_exporter::puts
