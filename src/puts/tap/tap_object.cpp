#include "puts/tap/tap_object.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "ca_tap.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::puts {
namespace {

// Linux 5.12 knows compare-and-swap, and some distributions' older kernels do: load one and see.
bool kernel_has_compare_and_swap() {
  const bpf_insn program[] = {
      {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},               // r0 = 0
      {BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0},              // *(u64 *)(fp - 8) = r0
      {BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1},               // r1 = 1
      {BPF_STX | BPF_ATOMIC | BPF_W, 10, 1, -8, BPF_CMPXCHG},  // r0 = cmpxchg(fp - 8, r0, r1)
      {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const UniqueFd fd(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "cmpxchg_probe", "Dual BSD/GPL",
                                  program, std::size(program), nullptr));
  return static_cast<bool>(fd);
}

Result<void> push(const bpf_map* queue, std::uint32_t number) {
  const int err = bpf_map_update_elem(bpf_map__fd(queue), nullptr, &number, BPF_ANY);
  if (err < 0)
    return kernel::libbpf_error(err, std::string("write to BPF map ") + bpf_map__name(queue));
  return {};
}

}  // namespace

void TapObject::Unload::operator()(ca_tap_bpf* skeleton) const {
  ca_tap_bpf__destroy(skeleton);
}

Result<void> TapObject::set_sizes() const {
  const auto& maps = skeleton_->maps;
  const std::pair<bpf_map*, std::uint32_t> wanted[] = {
      {maps.ca_servers, sizes_.max_servers},
      {maps.ca_ports, sizes_.max_servers},
      {maps.ca_flows, sizes_.max_circuits},
      {maps.ca_begun, std::max(sizes_.max_circuits / 4, 1024u)},
      // Open channels, and as many that are marked as closed, or that were not answered yet.
      {maps.ca_sids, sizes_.max_channels * 2},
      {maps.ca_cids, sizes_.max_channels * 2},
      {maps.ca_channels, sizes_.max_channels},
      {maps.ca_free_slots, sizes_.max_channels},
      {maps.ca_pending, sizes_.max_pending},
      {maps.ca_outcomes, sizes_.max_outcomes},
      {maps.ca_failures, sizes_.max_failures},
      {maps.ca_pages, sizes_.max_pages},
      {maps.ca_page_owners, sizes_.max_pages},
      {maps.ca_searches, skeleton_->rodata->cfg_searches != 0 ? sizes_.max_searches : 1},
      {maps.ca_free_pages, sizes_.max_pages},
      // Ended channels keep theirs until they are reaped, while new ones come.
      {maps.ca_channel_info, sizes_.max_channels * 2}};
  for (const auto& [map, entries] : wanted)
    if (auto ok = kernel::size_map(map, entries); !ok) return ok;
  return {};
}

void TapObject::set_caps() const {
  auto& caps = skeleton_->rodata->cfg_caps;
  caps[IOCX_CA_HELD_CIRCUITS] = iocx_cap(sizes_.max_circuits);
  caps[IOCX_CA_HELD_CHANNELS] = iocx_cap(sizes_.max_channels);
  caps[IOCX_CA_HELD_REQUESTS] = iocx_cap(sizes_.max_channels);
  caps[IOCX_CA_HELD_PENDING] = iocx_cap(sizes_.max_pending);
  caps[IOCX_CA_HELD_OUTCOMES] = iocx_cap(sizes_.max_outcomes);
  caps[IOCX_CA_HELD_FAILURES] = iocx_cap(sizes_.max_failures);
  caps[IOCX_CA_HELD_PAGES] = iocx_cap(sizes_.max_pages);
}

Result<void> TapObject::open_views() {
  const auto& maps = skeleton_->maps;
  if (auto ok = kernel::open_view(maps_.servers, maps.ca_servers); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.ports, maps.ca_ports); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.local, maps.ca_local); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.flows, maps.ca_flows); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.sids, maps.ca_sids); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.cids, maps.ca_cids); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.channel_info, maps.ca_channel_info); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.pending, maps.ca_pending); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.outcomes, maps.ca_outcomes); !ok) return ok;
  if (auto ok = kernel::open_view(maps_.failures, maps.ca_failures); !ok) return ok;
  return kernel::open_view(maps_.drops, maps.ca_drops);
}

Result<void> TapObject::map_into_memory() {
  const auto& maps = skeleton_->maps;
  if (auto ok = kernel::map_memory(channels_, maps.ca_channels); !ok) return ok;
  if (auto ok = kernel::map_memory(page_owners_, maps.ca_page_owners); !ok) return ok;
  if (auto ok = kernel::map_caps(caps_, maps.ca_held, skeleton_->rodata->cfg_caps); !ok) return ok;
  return kernel::map_memory(watched_, maps.ca_watched);
}

Result<TapObject> TapObject::load(const TapSizes& sizes, TapLock lock, bool remote_servers,
                                  bool searches, const kernel::RingUse& ring) {
  kernel::capture_libbpf_messages();
  TapObject object(sizes, ca_tap_bpf__open());
  ca_tap_bpf* const skeleton = object.skeleton_.get();
  if (skeleton == nullptr) return kernel::libbpf_error(-errno, "open BPF object ca_tap");
  skeleton->rodata->cfg_remote = remote_servers ? 1 : 0;
  skeleton->rodata->cfg_searches = searches ? 1 : 0;
  object.set_caps();
  if (auto ok = kernel::use_ring(*skeleton, ring, "ca_tap"); !ok) return ok.error();
  const auto& programs = skeleton->progs;
  const bool swap =
      lock == TapLock::choose ? kernel_has_compare_and_swap() : lock == TapLock::compare_and_swap;
  bpf_program* reader = swap ? programs.ca_tap_swap : programs.ca_tap_insert;
  bpf_program__set_autoload(swap ? programs.ca_tap_insert : programs.ca_tap_swap, false);
  if (auto ok = object.set_sizes(); !ok) return ok.error();
  if (const int err = ca_tap_bpf__load(skeleton); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_tap");
  const std::uint32_t first = IOCX_CA_PROGRAM_TCP;
  const int reader_fd = bpf_program__fd(reader);
  const auto& maps = skeleton->maps;
  if (const int err =
          bpf_map_update_elem(bpf_map__fd(maps.ca_programs), &first, &reader_fd, BPF_ANY);
      err < 0)
    return kernel::libbpf_error(err, "write to BPF map ca_programs");
  if (auto ok = object.open_views(); !ok) return ok.error();
  if (auto ok = object.map_into_memory(); !ok) return ok.error();
  for (const bpf_map* queue : {maps.ca_free_pages, maps.ca_free_slots})
    for (std::uint32_t number = 0; number < bpf_map__max_entries(queue); ++number)
      if (auto ok = push(queue, number); !ok) return ok.error();
  return object;
}

kernel::LostEvents TapObject::lost_events() const {
  return kernel::lost_events(*skeleton_);
}

void TapObject::set_probed_ports(const ProbedPorts& ports) const {
  auto& probed = skeleton_->bss->ca_probed_ports;
  std::vector<std::uint32_t> words(std::size(probed));
  for (const auto& [port, server] : ports) words[port / 32u] |= 1u << port % 32u;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (probed[i] != words[i]) __atomic_store_n(&probed[i], words[i], __ATOMIC_RELAXED);
}

TapSharedMaps TapObject::shared_maps() const {
  const auto& maps = skeleton_->maps;
  return {.work = bpf_map__fd(maps.ca_work),
          .drops = bpf_map__fd(maps.ca_drops),
          .programs = bpf_map__fd(maps.ca_programs),
          .watched = bpf_map__fd(maps.ca_watched),
          .ports = bpf_map__fd(maps.ca_ports),
          .servers = bpf_map__fd(maps.ca_servers),
          .local = bpf_map__fd(maps.ca_local),
          .searches = bpf_map__fd(maps.ca_searches)};
}

std::uint32_t TapObject::waiting() const {
  return __atomic_load_n(&skeleton_->bss->windows, __ATOMIC_RELAXED);
}

Result<void> TapObject::give_slot(std::uint32_t slot, std::uint32_t holder) const {
  caps_.give(IOCX_CA_HELD_CHANNELS, holder);
  channels()[slot] = {};
  return push(skeleton_->maps.ca_free_slots, slot);
}

void TapObject::stop_waiting(const iocx_ca_flow& flow) const {
  for (const iocx_ca_direction& direction : flow.directions)
    if (direction.wants_acks) __atomic_fetch_sub(&skeleton_->bss->windows, 1, __ATOMIC_RELAXED);
}

Result<void> TapObject::give_page(std::uint32_t page) const {
  iocx_ca_page_owner& owner = page_owners()[page];
  caps_.give(IOCX_CA_HELD_PAGES, owner.holder);
  owner.circuit = 0;
  return push(skeleton_->maps.ca_free_pages, page);
}

Result<std::optional<iocx_ca_flow>> TapObject::take_flow(const iocx_ca_flow_key& key) const {
  iocx_ca_flow flow;
  const int err = bpf_map_lookup_and_delete_elem(maps_.flows.fd(), &key, &flow);
  if (err == 0) return std::optional<iocx_ca_flow>(flow);
  if (err == -ENOENT) return std::optional<iocx_ca_flow>();
  auto found = maps_.flows.lookup(key);
  if (!found || !*found) return found;
  auto erased = maps_.flows.erase(key);
  if (!erased) return std::move(erased).error();
  return found;
}

}  // namespace ioc_exporter::puts
