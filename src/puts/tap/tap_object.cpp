#include "puts/tap/tap_object.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "ca_tap.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/map.h"
#include "kernel/shares.h"

namespace ioc_exporter::ca {
namespace {

struct SkeletonDeleter {
  void operator()(ca_tap_bpf* skeleton) const { ca_tap_bpf__destroy(skeleton); }
};

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

struct CaTapObject::Loaded {
  std::unique_ptr<ca_tap_bpf, SkeletonDeleter> skeleton;
  CaTapLock lock = CaTapLock::map_insert;
  std::uint32_t max_channels = 0;
  std::uint32_t max_pages = 0;
  kernel::MapMemory channels, watched, page_owners;
  kernel::Shares shares;
  CaTapMaps views;

  Result<void> set_sizes(const CaTapSizes& sizes) const;
  void set_bounds(const CaTapSizes& sizes) const;
  Result<void> open_views();
  Result<void> map_into_memory();
  Result<void> free_all(const bpf_map* queue) const;
};

Result<void> CaTapObject::Loaded::set_sizes(const CaTapSizes& sizes) const {
  const auto& maps = skeleton->maps;
  const std::pair<bpf_map*, std::uint32_t> wanted[] = {
      {maps.ca_servers, sizes.max_servers},
      {maps.ca_ports, sizes.max_servers},
      {maps.ca_told, sizes.max_servers},
      {maps.ca_flows, sizes.max_circuits},
      {maps.ca_begun, std::max(sizes.max_circuits / 4, 1024u)},
      // Open channels, and as many that are marked as closed, or that were not answered yet.
      {maps.ca_sids, sizes.max_channels * 2},
      {maps.ca_cids, sizes.max_channels * 2},
      {maps.ca_channels, sizes.max_channels},
      {maps.ca_free_slots, sizes.max_channels},
      {maps.ca_pending, sizes.max_pending},
      {maps.ca_outcomes, sizes.max_outcomes},
      {maps.ca_failures, sizes.max_failures},
      {maps.ca_pages, sizes.max_pages},
      {maps.ca_page_owners, sizes.max_pages},
      {maps.ca_free_pages, sizes.max_pages},
      // Ended channels keep theirs until they are reaped, while new ones come.
      {maps.ca_channel_info, sizes.max_channels * 2}};
  for (const auto& [map, entries] : wanted)
    if (auto ok = kernel::size_map(map, entries); !ok) return ok;
  return {};
}

void CaTapObject::Loaded::set_bounds(const CaTapSizes& sizes) const {
  auto& bounds = skeleton->rodata->cfg_bounds;
  bounds[IOCX_CA_SHARE_CIRCUITS] = kernel::usual_bound(sizes.max_circuits);
  bounds[IOCX_CA_SHARE_CHANNELS] = kernel::usual_bound(sizes.max_channels);
  bounds[IOCX_CA_SHARE_REQUESTS] = kernel::usual_bound(sizes.max_channels);
  bounds[IOCX_CA_SHARE_PENDING] = kernel::usual_bound(sizes.max_pending - sizes.max_pending / 4);
  bounds[IOCX_CA_SHARE_OUTCOMES] = kernel::usual_bound(sizes.max_outcomes);
  bounds[IOCX_CA_SHARE_FAILURES] = kernel::usual_bound(sizes.max_failures);
  bounds[IOCX_CA_SHARE_CLEARED] = kernel::usual_bound(sizes.max_channels);
  // Pages are held for moments, and two connections on a bad network need nearly all.
  bounds[IOCX_CA_SHARE_PAGES] = {sizes.max_pages, sizes.max_pages / 8};
}

Result<void> CaTapObject::Loaded::open_views() {
  const auto& maps = skeleton->maps;
  if (auto ok = kernel::open_view(views.servers, maps.ca_servers); !ok) return ok;
  if (auto ok = kernel::open_view(views.ports, maps.ca_ports); !ok) return ok;
  if (auto ok = kernel::open_view(views.local, maps.ca_local); !ok) return ok;
  if (auto ok = kernel::open_view(views.flows, maps.ca_flows); !ok) return ok;
  if (auto ok = kernel::open_view(views.sids, maps.ca_sids); !ok) return ok;
  if (auto ok = kernel::open_view(views.cids, maps.ca_cids); !ok) return ok;
  if (auto ok = kernel::open_view(views.channel_info, maps.ca_channel_info); !ok) return ok;
  if (auto ok = kernel::open_view(views.pending, maps.ca_pending); !ok) return ok;
  if (auto ok = kernel::open_view(views.outcomes, maps.ca_outcomes); !ok) return ok;
  if (auto ok = kernel::open_view(views.failures, maps.ca_failures); !ok) return ok;
  if (auto ok = kernel::open_view(views.told, maps.ca_told); !ok) return ok;
  return kernel::open_view(views.drops, maps.ca_drops);
}

Result<void> CaTapObject::Loaded::map_into_memory() {
  const auto& maps = skeleton->maps;
  if (auto ok = kernel::map_memory(channels, maps.ca_channels); !ok) return ok;
  if (auto ok = kernel::map_memory(page_owners, maps.ca_page_owners); !ok) return ok;
  auto taken = kernel::Shares::map(bpf_map__fd(maps.ca_shares), IOCX_CA_HOLDERS,
                                   bpf_map__name(maps.ca_shares), skeleton->rodata->cfg_bounds);
  if (!taken) return std::move(taken).error();
  shares = std::move(*taken);
  return kernel::map_memory(watched, maps.ca_watched);
}

// Pages or slots: nothing uses them yet.
Result<void> CaTapObject::Loaded::free_all(const bpf_map* queue) const {
  for (std::uint32_t number = 0; number < bpf_map__max_entries(queue); ++number)
    if (auto ok = push(queue, number); !ok) return ok;
  return {};
}

CaTapObject::CaTapObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaTapObject::CaTapObject(CaTapObject&&) noexcept = default;
CaTapObject& CaTapObject::operator=(CaTapObject&&) noexcept = default;
CaTapObject::~CaTapObject() = default;

Result<CaTapObject> CaTapObject::load(const CaTapSizes& sizes, CaTapLock lock, bool remote_servers,
                                      const kernel::RingUse& ring) {
  kernel::capture_libbpf_messages();
  if (lock == CaTapLock::choose)
    lock = kernel_has_compare_and_swap() ? CaTapLock::compare_and_swap : CaTapLock::map_insert;
  auto loaded = std::make_unique<Loaded>();
  loaded->lock = lock;
  loaded->max_channels = sizes.max_channels;
  loaded->max_pages = sizes.max_pages;
  loaded->skeleton.reset(ca_tap_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_tap");
  loaded->skeleton->rodata->cfg_remote = remote_servers ? 1 : 0;
  loaded->set_bounds(sizes);
  if (auto ok = kernel::use_ring(*loaded->skeleton, ring, "ca_tap"); !ok) return ok.error();
  const auto& programs = loaded->skeleton->progs;
  const bool swap = lock == CaTapLock::compare_and_swap;
  bpf_program* reader = swap ? programs.ca_tap_swap : programs.ca_tap_insert;
  bpf_program__set_autoload(swap ? programs.ca_tap_insert : programs.ca_tap_swap, false);
  if (auto ok = loaded->set_sizes(sizes); !ok) return ok.error();
  if (const int err = ca_tap_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_tap");
  const std::uint32_t first = IOCX_CA_PROGRAM_TCP;
  const int reader_fd = bpf_program__fd(reader);
  const int programs_fd = bpf_map__fd(loaded->skeleton->maps.ca_programs);
  if (const int err = bpf_map_update_elem(programs_fd, &first, &reader_fd, BPF_ANY); err < 0)
    return kernel::libbpf_error(err, "write to BPF map ca_programs");
  if (auto ok = loaded->open_views(); !ok) return ok.error();
  if (auto ok = loaded->map_into_memory(); !ok) return ok.error();
  const auto& maps = loaded->skeleton->maps;
  for (const bpf_map* queue : {maps.ca_free_pages, maps.ca_free_slots})
    if (auto ok = loaded->free_all(queue); !ok) return ok.error();
  return CaTapObject(std::move(loaded));
}

kernel::LostEvents CaTapObject::lost_events() const {
  return kernel::lost_events(*loaded_->skeleton);
}

void CaTapObject::set_told_ports(const std::set<std::uint16_t>& ports) const {
  auto& told = loaded_->skeleton->bss->ca_told_ports;
  std::vector<std::uint32_t> words(std::size(told));
  for (const std::uint16_t port : ports) words[port / 32u] |= 1u << port % 32u;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (told[i] != words[i]) __atomic_store_n(&told[i], words[i], __ATOMIC_RELAXED);
}

void CaTapObject::told_changed() const {
  __atomic_fetch_add(&loaded_->skeleton->bss->ca_told_version, 1, __ATOMIC_RELEASE);
}

CaSharedMaps CaTapObject::shared_maps() const {
  const auto& maps = loaded_->skeleton->maps;
  return {.work = bpf_map__fd(maps.ca_work),
          .drops = bpf_map__fd(maps.ca_drops),
          .programs = bpf_map__fd(maps.ca_programs),
          .watched = bpf_map__fd(maps.ca_watched),
          .ports = bpf_map__fd(maps.ca_ports),
          .servers = bpf_map__fd(maps.ca_servers),
          .local = bpf_map__fd(maps.ca_local)};
}

const CaTapMaps& CaTapObject::maps() const {
  return loaded_->views;
}

std::uint32_t CaTapObject::waiting() const {
  return __atomic_load_n(&loaded_->skeleton->bss->windows, __ATOMIC_RELAXED);
}

iocx_ca_port_set& CaTapObject::watched_ports(std::uint32_t net) const {
  return static_cast<iocx_ca_port_set*>(loaded_->watched.data())[net];
}

iocx_ca_channel* CaTapObject::channels() const {
  return static_cast<iocx_ca_channel*>(loaded_->channels.data());
}

Result<std::optional<std::uint32_t>> CaTapObject::take_slot() const {
  const int fd = bpf_map__fd(loaded_->skeleton->maps.ca_free_slots);
  std::uint32_t slot = 0;
  const int err = bpf_map_lookup_and_delete_elem(fd, nullptr, &slot);
  if (err == 0) return std::optional<std::uint32_t>(slot);
  if (err == -ENOENT) return std::optional<std::uint32_t>();
  return kernel::libbpf_error(err, "take from BPF map ca_free_slots");
}

Result<void> CaTapObject::give_slot(std::uint32_t slot, std::uint32_t address) const {
  give_share(IOCX_CA_SHARE_CHANNELS, channels()[slot].circuit, address);
  channels()[slot] = {};
  return push(loaded_->skeleton->maps.ca_free_slots, slot);
}

bool CaTapObject::take_share(iocx_ca_share_of table, std::uint64_t circuit,
                             std::uint32_t address) const {
  return loaded_->shares.take(table, iocx_ca_share_of_circuit(circuit), address);
}

void CaTapObject::give_share(iocx_ca_share_of table, std::uint64_t circuit,
                             std::uint32_t address) const {
  loaded_->shares.give(table, iocx_ca_share_of_circuit(circuit), address);
}

std::uint32_t CaTapObject::held(iocx_ca_share_of table) const {
  return loaded_->shares.held(table);
}

bool CaTapObject::is_crowded(iocx_ca_share_of table) const {
  return loaded_->shares.is_crowded(table);
}

void CaTapObject::stop_waiting(const iocx_ca_flow& flow) const {
  for (const iocx_ca_direction& direction : flow.directions)
    if (direction.wants_acks)
      __atomic_fetch_sub(&loaded_->skeleton->bss->windows, 1, __ATOMIC_RELAXED);
}

const iocx_ca_page_owner* CaTapObject::page_owners() const {
  return static_cast<const iocx_ca_page_owner*>(loaded_->page_owners.data());
}

Result<void> CaTapObject::give_page(std::uint32_t page) const {
  auto& owner = static_cast<iocx_ca_page_owner*>(loaded_->page_owners.data())[page];
  give_share(IOCX_CA_SHARE_PAGES, owner.circuit, owner.address);
  owner.circuit = 0;
  return push(loaded_->skeleton->maps.ca_free_pages, page);
}

Result<std::optional<iocx_ca_flow>> CaTapObject::take_flow(const iocx_ca_flow_key& key) const {
  const auto& flows = loaded_->views.flows;
  iocx_ca_flow flow;
  const int err = bpf_map_lookup_and_delete_elem(flows.fd(), &key, &flow);
  if (err == 0) return std::optional<iocx_ca_flow>(flow);
  if (err == -ENOENT) return std::optional<iocx_ca_flow>();
  auto found = flows.lookup(key);
  if (!found || !*found) return found;
  auto erased = flows.erase(key);
  if (!erased) return std::move(erased).error();
  return found;
}

std::uint32_t CaTapObject::max_channels() const {
  return loaded_->max_channels;
}
std::uint32_t CaTapObject::max_pages() const {
  return loaded_->max_pages;
}
CaTapLock CaTapObject::lock() const {
  return loaded_->lock;
}

}  // namespace ioc_exporter::ca
