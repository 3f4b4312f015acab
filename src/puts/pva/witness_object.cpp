#include "puts/pva/witness_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "iocs/find/inspector.h"
#include "kernel/ask_to_attach.h"
#include "kernel/function_symbol.h"
#include "kernel/libbpf_support.h"
#include "kernel/mapped_array.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_link.h"
#include "pva_witness.skel.h"

namespace ioc_exporter::pva {
namespace {

static_assert(sizeof(iocx_pva_ioc) == 16 && sizeof(iocx_pva_key) == 296);
static_assert(offsetof(iocx_pva_key, user) == 160 && offsetof(iocx_pva_key, peer) == 240);
static_assert(sizeof(iocx_pva_put) == 48 && offsetof(iocx_pva_put, holder) == 32);
static_assert(sizeof(iocx_pva_holder) == 40 && offsetof(iocx_pva_holder, rest) == 8);

struct SkeletonDeleter {
  void operator()(pva_witness_bpf* skeleton) const { pva_witness_bpf__destroy(skeleton); }
};

const char* function_of(std::uint32_t index) {
  return iocs::Inspector::pva_put_functions()[index];
}

}  // namespace

struct PvaWitnessObject::Loaded {
  std::unique_ptr<pva_witness_bpf, SkeletonDeleter> skeleton;
  std::optional<kernel::UprobeLinkTypes> links;
  std::shared_ptr<Helper> helper;  // attaches in our place; none: we may do it ourselves
  kernel::MapMemory holders;
  PvaMaps views;

  // In the order of iocs::Inspector::pva_put_functions().
  const bpf_program* program(std::uint32_t function) const {
    const auto& programs = skeleton->progs;
    const bpf_program* const all[] = {
        programs.pva_single_put, programs.pva_single_put, programs.pva_group_put,
        programs.pva_group_put,  programs.pva_put_done,   programs.pva_put_done,
        programs.pva_on_put,     programs.pva_on_put,     programs.pva_on_put,
        programs.pva_error,      programs.pva_error};
    return all[function];
  }
};

PvaWitnessObject::PvaWitnessObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
PvaWitnessObject::PvaWitnessObject(PvaWitnessObject&&) noexcept = default;
PvaWitnessObject& PvaWitnessObject::operator=(PvaWitnessObject&&) noexcept = default;
PvaWitnessObject::~PvaWitnessObject() = default;

Result<PvaWitnessObject> PvaWitnessObject::load(const kernel::RingUse& ring,
                                                const kernel::TraceUse& traces) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(pva_witness_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object pva_server_probe");
  loaded->links = kernel::uprobe_link_types();
  bpf_program* program = nullptr;
  if (loaded->links)
    bpf_object__for_each_program(program, loaded->skeleton->obj)
        kernel::set_attach_type(program, loaded->links->multi);
  if (auto ok = kernel::use_ring(*loaded->skeleton, ring, "pva_server_probe"); !ok)
    return ok.error();
  const kernel::SharedMap shared[] = {{loaded->skeleton->maps.trace_pva_puts, traces.pva_puts}};
  if (auto ok = kernel::share_or_leave_out(shared, traces.on(), "pva_server_probe"); !ok)
    return ok.error();
  loaded->skeleton->rodata->cfg_traces = traces.on();
  if (!traces.on())
    if (const int err = bpf_map__set_autocreate(loaded->skeleton->maps.zero_trace_put, false);
        err < 0)
      return kernel::libbpf_error(err, "leave out a BPF map");
  if (const int err = pva_witness_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object pva_server_probe");
  const auto& maps = loaded->skeleton->maps;
  PvaMaps& views = loaded->views;
  if (auto ok = kernel::open_view(views.iocs, maps.pva_iocs); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.puts, maps.pva_puts); !ok) return ok.error();
  if (auto ok = kernel::open_view(views.drops, maps.pva_drops); !ok) return ok.error();
  auto memory = kernel::MapMemory::map(
      bpf_map__fd(maps.pva_holders), std::size_t{IOCX_PVA_HOLDERS} * sizeof(iocx_pva_holder),
      bpf_map__name(maps.pva_holders), kernel::MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  loaded->holders = std::move(*memory);
  return PvaWitnessObject(std::move(loaded));
}

Result<UniqueFd> PvaWitnessObject::attach_here(const PvaPlace& place) const {
  const int fd = bpf_program__fd(loaded_->program(place.function));
  const kernel::UprobePlace at{"/proc/self/fd/" + std::to_string(place.file), place.offset,
                               place.pid};
  const char* const function = function_of(place.function);
  return loaded_->links
             ? kernel::attach_uprobe_link(fd, loaded_->links->multi, at, {&at.offset, 1}, function)
             : kernel::attach_uprobe(fd, at, function);
}

Result<UniqueFd> PvaWitnessObject::attach(const PvaPlace& place) const {
  const HelperRequest request{
      .what = kRequest, .number = place.function, .pid = place.pid, .offset = place.offset};
  auto attached = loaded_->helper ? kernel::ask_to_attach(*loaded_->helper, request, place.file)
                                  : attach_here(place);
  if (attached) return attached;
  return kernel::attach_error(
      kernel::uprobe_text(function_of(place.function), place.shown_path, place.pid),
      attached.error());
}

void PvaWitnessObject::use_helper(std::shared_ptr<Helper> helper) {
  loaded_->helper = std::move(helper);
}

Result<UniqueFd> PvaWitnessObject::serve(const HelperRequest& request, const UniqueFd& file) const {
  if (request.what != kRequest || request.number >= iocs::Inspector::pva_put_functions().size() ||
      !file || request.pid <= 0)
    return error_in_words("attach: no such request");
  const char* const functions[] = {function_of(request.number)};
  if (auto ok = kernel::check_function_at(file.get(), request.offset, functions); !ok)
    return ok.error();
  return attach_here({file.get(), "", request.number, request.offset, request.pid});
}

const PvaMaps& PvaWitnessObject::maps() const {
  return loaded_->views;
}

iocx_pva_holder* PvaWitnessObject::holders() const {
  return static_cast<iocx_pva_holder*>(loaded_->holders.data());
}

kernel::LostEvents PvaWitnessObject::lost_events() const {
  return kernel::lost_events(*loaded_->skeleton);
}

std::optional<kernel::ProgramStats> PvaWitnessObject::stats() const {
  std::optional<kernel::ProgramStats> sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, loaded_->skeleton->obj)
      kernel::add_stats(sum, kernel::program_stats(program));
  return sum;
}

}  // namespace ioc_exporter::pva
