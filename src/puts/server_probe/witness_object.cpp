#include "puts/server_probe/witness_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "ca_witness.skel.h"
#include "iocs/elf/rsrv_functions.h"
#include "iocs/find/inspector.h"
#include "kernel/ask_to_attach.h"
#include "kernel/function_symbol.h"
#include "kernel/libbpf_support.h"
#include "kernel/mapped_array.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_link.h"

namespace ioc_exporter::ca {
namespace {

static_assert(sizeof(iocx_witness_ioc) == 16 && sizeof(iocx_witness_key) == 40);
static_assert(sizeof(iocx_witness_channel) == 128 && offsetof(iocx_witness_channel, puts) == 40 &&
              offsetof(iocx_witness_channel, state) == 72 &&
              offsetof(iocx_witness_channel, application) == 120);
static_assert(sizeof(iocx_witness_info) == 440 && offsetof(iocx_witness_info, name) == 168);
static_assert(sizeof(iocx_witness_result) == 128 && offsetof(iocx_witness_result, notify) == 88);
static_assert(sizeof(iocx_witness_rest) == 24 + 8 * IOCX_FAILURES);

struct SkeletonDeleter {
  void operator()(ca_witness_bpf* skeleton) const { ca_witness_bpf__destroy(skeleton); }
};

const char* function_of(WitnessProgram program) {
  return kWitnessFunctions[static_cast<std::size_t>(program)];
}

}  // namespace

struct CaWitnessObject::Loaded {
  std::unique_ptr<ca_witness_bpf, SkeletonDeleter> skeleton;
  std::optional<kernel::UprobeLinkTypes> links;
  std::shared_ptr<Helper> helper;  // attaches in our place; none: we may do it ourselves
  std::uint32_t slots = 0;
  kernel::MapMemory channels, results, shares;
  WitnessMaps views;

  const bpf_program* program(WitnessProgram which) const {
    const auto& all = skeleton->progs;
    const bpf_program* const programs[] = {all.witness_write, all.witness_notify,
                                           all.witness_error, all.witness_start,
                                           all.witness_done,  all.witness_cancel};
    return programs[static_cast<std::size_t>(which)];
  }
  iocx_witness_channel* slots_memory() const {
    return static_cast<iocx_witness_channel*>(channels.data());
  }
  Result<void> push_free(std::uint32_t slot) const {
    const bpf_map* queue = skeleton->maps.witness_free;
    const int err = bpf_map_update_elem(bpf_map__fd(queue), nullptr, &slot, BPF_ANY);
    if (err < 0) return kernel::libbpf_error(err, "write to BPF map witness_free");
    return {};
  }
};

CaWitnessObject::CaWitnessObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaWitnessObject::CaWitnessObject(CaWitnessObject&&) noexcept = default;
CaWitnessObject& CaWitnessObject::operator=(CaWitnessObject&&) noexcept = default;
CaWitnessObject::~CaWitnessObject() = default;

Result<CaWitnessObject> CaWitnessObject::load(std::uint32_t slots, const kernel::RingUse& ring,
                                              const kernel::TraceUse& traces) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->slots = slots;
  loaded->skeleton.reset(ca_witness_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_server_probe");
  loaded->links = kernel::uprobe_link_types();
  const auto& programs = loaded->skeleton->progs;
  if (loaded->links)
    for (bpf_program* program :
         {programs.witness_write, programs.witness_notify, programs.witness_error,
          programs.witness_start, programs.witness_done, programs.witness_cancel})
      kernel::set_attach_type(program, loaded->links->multi);
  const auto& maps = loaded->skeleton->maps;
  for (bpf_map* map : {maps.witness_slots, maps.witness_channels, maps.witness_info,
                       maps.witness_results, maps.witness_durations, maps.witness_free})
    if (auto ok = kernel::size_map(map, slots); !ok) return ok.error();
  loaded->skeleton->rodata->cfg_slots = slots;
  if (auto ok = kernel::use_ring(*loaded->skeleton, ring, kServerProbe); !ok) return ok.error();
  const kernel::SharedMap shared[] = {{maps.trace_puts, traces.puts}};
  if (auto ok = kernel::share_or_leave_out(shared, traces.on(), kServerProbe); !ok)
    return ok.error();
  loaded->skeleton->rodata->cfg_traces = traces.on();
  if (const int err = ca_witness_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_server_probe");
  WitnessMaps& views = loaded->views;
  if (auto ok = kernel::open_view(views.iocs, maps.witness_iocs); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.slots, maps.witness_slots); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.info, maps.witness_info); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.durations, maps.witness_durations); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.rest, maps.witness_rest); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.drops, maps.witness_drops); !ok) return ok.error();
  auto memory = kernel::MapMemory::map(
      bpf_map__fd(maps.witness_channels), std::size_t{slots} * sizeof(iocx_witness_channel),
      bpf_map__name(maps.witness_channels), kernel::MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  loaded->channels = std::move(*memory);
  memory = kernel::MapMemory::map(
      bpf_map__fd(maps.witness_results), std::size_t{slots} * sizeof(iocx_witness_result),
      bpf_map__name(maps.witness_results), kernel::MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  loaded->results = std::move(*memory);
  memory = kernel::MapMemory::map(
      bpf_map__fd(maps.witness_shares), IOCX_WITNESS_SHARES * sizeof(std::uint64_t),
      bpf_map__name(maps.witness_shares), kernel::MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  loaded->shares = std::move(*memory);
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    if (auto ok = loaded->push_free(slot); !ok) return ok.error();
  return CaWitnessObject(std::move(loaded));
}

Result<UniqueFd> CaWitnessObject::attach_here(WitnessProgram program, int file,
                                              std::uint64_t offset, std::int32_t pid) const {
  const int fd = bpf_program__fd(loaded_->program(program));
  const kernel::UprobePlace place{"/proc/self/fd/" + std::to_string(file), offset, pid};
  const char* const function = function_of(program);
  return loaded_->links ? kernel::attach_uprobe_link(fd, loaded_->links->multi, place,
                                                     {&place.offset, 1}, function)
                        : kernel::attach_uprobe(fd, place, function);
}

Result<UniqueFd> CaWitnessObject::attach(WitnessProgram program, const WitnessPlace& place) const {
  const HelperRequest request{.what = kRequest,
                              .number = static_cast<std::uint32_t>(program),
                              .pid = place.pid,
                              .offset = place.offset};
  auto attached = loaded_->helper ? kernel::ask_to_attach(*loaded_->helper, request, place.file)
                                  : attach_here(program, place.file, place.offset, place.pid);
  if (attached) return attached;
  return kernel::attach_error(
      kernel::uprobe_text(function_of(program), place.shown_path, place.pid), attached.error());
}

void CaWitnessObject::use_helper(std::shared_ptr<Helper> helper) {
  loaded_->helper = std::move(helper);
}

Result<UniqueFd> CaWitnessObject::serve(const HelperRequest& request, const UniqueFd& file) const {
  if (request.what != kRequest || request.number >= kWitnessFunctions.size() || !file ||
      (request.pid <= 0 && request.pid != kAllProcesses))
    return error_in_words("attach: no such request");
  const auto program = static_cast<WitnessProgram>(request.number);
  const char* const functions[] = {function_of(program)};
  if (auto ok = kernel::check_function_at(file.get(), request.offset, functions);
      !ok && !iocs::is_rsrv_function(file.get(), request.offset))
    return ok.error();
  return attach_here(program, file.get(), request.offset, request.pid);
}

const WitnessMaps& CaWitnessObject::maps() const {
  return loaded_->views;
}

std::uint32_t CaWitnessObject::max_slots() const {
  return loaded_->slots;
}

const iocx_witness_channel* CaWitnessObject::channels() const {
  return loaded_->slots_memory();
}

iocx_witness_result* CaWitnessObject::results() const {
  return static_cast<iocx_witness_result*>(loaded_->results.data());
}

std::uint64_t CaWitnessObject::held() const {
  const auto* const held = static_cast<const std::uint64_t*>(loaded_->shares.data());
  return __atomic_load_n(&held[IOCX_WITNESS_SHARE_ALL], __ATOMIC_ACQUIRE);
}

void CaWitnessObject::give_up(std::uint32_t slot) const {
  __atomic_store_n(&loaded_->slots_memory()[slot].state, IOCX_WITNESS_GIVEN_UP, __ATOMIC_RELEASE);
}

Result<void> CaWitnessObject::give_slot(std::uint32_t slot) const {
  iocx_witness_channel& channel = loaded_->slots_memory()[slot];
  auto* const held = static_cast<std::uint64_t*>(loaded_->shares.data());
  for (const std::uint32_t holder :
       {IOCX_WITNESS_SHARE_ALL, channel.client, channel.ioc, channel.user})
    __atomic_fetch_sub(&held[holder], 1, __ATOMIC_RELAXED);
  channel = {};
  results()[slot] = {};
  if (auto erased = loaded_->views.durations.erase(slot); !erased) return std::move(erased).error();
  return loaded_->push_free(slot);
}

kernel::LostEvents CaWitnessObject::lost_events() const {
  return kernel::lost_events(*loaded_->skeleton);
}

std::optional<kernel::ProgramStats> CaWitnessObject::stats() const {
  std::optional<kernel::ProgramStats> sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, loaded_->skeleton->obj)
      kernel::add_stats(sum, kernel::program_stats(program));
  return sum;
}

}  // namespace ioc_exporter::ca
