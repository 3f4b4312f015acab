#include "puts/server_probe/server_probe_object.h"

#include <bpf/bpf.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ca_server_probe.skel.h"
#include "elf/rsrv_functions.h"
#include "kernel/libbpf_support.h"
#include "kernel/uprobe.h"
#include "pva_server_probe.skel.h"
#include "shared/attach.h"

namespace ioc_exporter::puts {
namespace {

static_assert(sizeof(iocx_server_ioc) == 24 && sizeof(iocx_ca_server_key) == 40);
static_assert(sizeof(iocx_pva_key) == 296 && offsetof(iocx_pva_key, user) == 160 &&
              offsetof(iocx_pva_key, peer) == 240);
static_assert(sizeof(iocx_server_slot) == 128 && offsetof(iocx_server_slot, who) == 40 &&
              offsetof(iocx_server_slot, state) == 56 && offsetof(iocx_server_slot, id) == 64 &&
              offsetof(iocx_server_slot, field) == 96);
static_assert(sizeof(iocx_ca_server_info) == 512 && offsetof(iocx_ca_server_info, name) == 168 &&
              offsetof(iocx_ca_server_info, owner_user) == 448);
static_assert(sizeof(iocx_server_result) == 128 && offsetof(iocx_server_result, notify) == 88);
static_assert(sizeof(iocx_open_callback_key) == 16 && sizeof(iocx_open_callback) == 40);
static_assert(sizeof(iocx_server_remainder) == 24 + 8 * IOCX_FAILURES);

// That serve clients, and whose last puts' results the put log waits for.
constexpr std::uint32_t kThreads = 8192;

// HelperRequest::what of CA's requests; those of PV Access follow.
constexpr std::uint32_t kRequest = 16;

// By the numbers of functions.
constexpr std::array kCaPrograms{
    "ca_write",       "ca_write_notify", "ca_send_err", "ca_notify_start", "ca_notify_done",
    "ca_notify_canc", "ca_flush",        "ca_inside",   "ca_inside_cb",    "ca_inside_done"};
constexpr std::array kPvaPrograms{
    "pva_single_put", "pva_single_put", "pva_group_put",   "pva_group_put",   "pva_put_done",
    "pva_put_done",   "pva_on_put",     "pva_on_group_pt", "pva_on_group_pt", "pva_error",
    "pva_error",      "pva_notify_end", "pva_notify_end",  "pva_reply",       "pva_notify_put",
    "pva_notify_put", "pva_notify",     "pva_notify_canc", "pva_write",       "pva_write_link"};

// Of attachments to all processes, where cookies do not distinguish them.
const char* for_all(const char* program) {
  static std::map<std::string, std::string> names;
  return names.try_emplace(program, std::string(program) + "_all").first->second.c_str();
}

elf::Attacher attacher_of(Protocol protocol, const bpf_object* object) {
  const bool is_ca = protocol == Protocol::ca;
  std::vector<elf::FunctionPrograms> programs;
  for (const char* const function : function_names(protocol)) {
    const std::size_t i = programs.size();
    const char* const program = is_ca ? kCaPrograms.at(i) : kPvaPrograms.at(i);
    programs.push_back({.functions = {function},
                        .entry = program,
                        .entry_all = for_all(program),
                        .cookie = IOCX_ATTACH_PROCESS,
                        .cookie_all = IOCX_ATTACH_ALL});
    if (is_ca) programs.back().is_unnamed = elf::is_rsrv_function;
  }
  return {kRequest + (is_ca ? 0u : 2u), std::move(programs), object, kernel::uprobe_link_type()};
}

// Configuration before a skeleton is loaded. `puts`: its map of traces.
template <class Skeleton>
Result<void> configure(Skeleton& skeleton, const ServerProbeObject::Options& options,
                       kernel::SharedMap puts) {
  const char* const name = ServerProbeObject::name_of(options.protocol);
  if (const auto& type = kernel::uprobe_link_type()) {
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton.obj) {
      kernel::set_attach_type(program, *type);
      if (std::string_view(bpf_program__name(program)).ends_with("_all"))
        bpf_program__set_autoload(program, false);
    }
    skeleton.rodata->cfg_cookies = 1;
  }
  const auto& maps = skeleton.maps;
  for (bpf_map* map : {maps.slot_by_key, maps.server_slots, maps.slot_info, maps.slot_results,
                       maps.free_slots, maps.slot_durations})
    if (auto ok = kernel::size_map(map, options.slots); !ok) return ok;
  skeleton.rodata->cfg_slots = options.slots;
  skeleton.rodata->cfg_traces = options.traces.on();
  if (auto ok = kernel::use_ring(skeleton, options.ring, name); !ok) return ok;
  return kernel::share_or_leave_out({&puts, 1}, options.traces.on(), name);
}

}  // namespace

void ServerProbeObject::Unload::operator()(ca_server_probe_bpf* skeleton) const {
  ca_server_probe_bpf__destroy(skeleton);
}

void ServerProbeObject::Unload::operator()(pva_server_probe_bpf* skeleton) const {
  pva_server_probe_bpf__destroy(skeleton);
}

template <class Use>
auto ServerProbeObject::with_skeleton(Use use) const {
  return ca_ ? use(*ca_) : use(*pva_);
}

Result<void> ServerProbeObject::open_views() {
  return with_skeleton([this](const auto& skeleton) -> Result<void> {
    const auto& maps = skeleton.maps;
    if (auto ok = kernel::open_view(maps_.iocs, maps.server_iocs); !ok) return ok;
    if (auto ok = kernel::open_view(maps_.remainder, maps.puts_remainder); !ok) return ok;
    if (auto ok = kernel::open_view(maps_.drops, maps.server_drops); !ok) return ok;
    if (auto ok = kernel::open_view(maps_.open_callbacks, maps.open_callbacks); !ok) return ok;
    if (auto ok = kernel::open_view(maps_.durations, maps.slot_durations); !ok) return ok;
    if (auto ok = kernel::map_memory(slots_, maps.server_slots); !ok) return ok;
    if (auto ok = kernel::map_memory(results_, maps.slot_results); !ok) return ok;
    return kernel::map_memory(held_, maps.slots_held);
  });
}

Result<void> ServerProbeObject::load_ca() {
  ca_.reset(ca_server_probe_bpf__open());
  if (!ca_) return kernel::libbpf_error(-errno, "open BPF object ca_server_probe");
  const auto& maps = ca_->maps;
  if (auto ok = configure(*ca_, options_, {maps.trace_puts, options_.traces.puts}); !ok) return ok;
  if (auto ok = kernel::size_map(maps.putlog_threads, has_put_log() ? kThreads : 1); !ok) return ok;
  if (const int err = ca_server_probe_bpf__load(ca_.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_server_probe");
  if (auto ok = kernel::open_view(maps_.ca_slots, maps.slot_by_key); !ok) return ok;
  return kernel::open_view(maps_.ca_info, maps.slot_info);
}

Result<void> ServerProbeObject::load_pva() {
  pva_.reset(pva_server_probe_bpf__open());
  if (!pva_) return kernel::libbpf_error(-errno, "open BPF object pva_server_probe");
  const auto& maps = pva_->maps;
  if (auto ok = configure(*pva_, options_, {maps.trace_pva_puts, options_.traces.pva_puts}); !ok)
    return ok;
  if (const int err =
          options_.traces.on() ? 0 : bpf_map__set_autocreate(maps.zero_trace_put, false);
      err < 0)
    return kernel::libbpf_error(err, "leave out a BPF map");
  if (auto ok = has_put_log() ? Result<void>() : kernel::size_map(maps.field_layouts, 1); !ok)
    return ok;
  if (const int err = pva_server_probe_bpf__load(pva_.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object pva_server_probe");
  if (auto ok = kernel::open_view(maps_.pva_slots, maps.slot_by_key); !ok) return ok;
  return kernel::open_view(maps_.pva_info, maps.slot_info);
}

Result<void> ServerProbeObject::push_free(std::uint32_t slot) const {
  const bpf_map* const queue =
      with_skeleton([](const auto& skeleton) { return skeleton.maps.free_slots; });
  const int err = bpf_map_update_elem(bpf_map__fd(queue), nullptr, &slot, BPF_ANY);
  if (err < 0) return kernel::libbpf_error(err, "write to BPF map free_slots");
  return {};
}

Result<ServerProbeObject> ServerProbeObject::load(const Options& options) {
  kernel::capture_libbpf_messages();
  ServerProbeObject object(options);
  const bool is_ca = options.protocol == Protocol::ca;
  if (auto ok = is_ca ? object.load_ca() : object.load_pva(); !ok) return ok.error();
  if (auto ok = object.open_views(); !ok) return ok.error();
  const bpf_object* const programs =
      object.with_skeleton([](const auto& skeleton) { return skeleton.obj; });
  object.attacher_ = std::make_unique<elf::Attacher>(attacher_of(options.protocol, programs));
  for (std::uint32_t slot = 0; slot < options.slots; ++slot)
    if (auto ok = object.push_free(slot); !ok) return ok.error();
  return object;
}

void ServerProbeObject::look_at_kinds(bool look) const {
  with_skeleton([look](const auto& skeleton) {
    __atomic_store_n(&skeleton.bss->has_all, look ? 1u : 0u, __ATOMIC_RELEASE);
  });
}

Result<void> ServerProbeObject::give_up(std::uint32_t slot) const {
  const auto erase = [slot](const auto& info, const auto& slots, auto key_of) -> Result<void> {
    const auto about = info.lookup(slot);
    if (!about) return about.error();
    if (!*about) return {};
    const auto erased = slots.erase(key_of(**about));
    return erased ? Result<void>() : erased.error();
  };
  const auto itself = [](const auto& key) { return key; };
  const auto key_of = [](const auto& info) { return info.key; };
  if (slots()[slot].searches != IOCX_SERVER_NOWHERE) {
    auto erased = protocol() == Protocol::ca ? erase(maps_.ca_info, maps_.ca_slots, key_of)
                                             : erase(maps_.pva_info, maps_.pva_slots, itself);
    if (!erased) return erased;
  }
  __atomic_store_n(&slots()[slot].state, IOCX_SLOT_GIVEN_UP, __ATOMIC_RELEASE);
  return {};
}

bool ServerProbeObject::has_callbacks() const {
  for (std::uint32_t ioc = 0; ioc < IOCX_SERVER_IOCS; ++ioc)
    if (held(IOCX_SERVER_CALLBACKS + ioc) != 0) return true;
  return false;
}

Result<void> ServerProbeObject::forget_callback(const iocx_open_callback_key& key) const {
  auto erased = maps_.open_callbacks.erase(key);
  if (!erased) return std::move(erased).error();
  if (*erased) give_back(IOCX_SERVER_CALLBACKS + key.generation % IOCX_SERVER_IOCS);
  return {};
}

Result<void> ServerProbeObject::give_slot(std::uint32_t slot) const {
  iocx_server_slot& freed = slots()[slot];
  for (const std::uint32_t holder : {IOCX_HELD_ALL, freed.holder_client, freed.holder_ioc})
    give_back(holder);
  freed = {};
  results()[slot] = {};
  if (auto erased = maps_.durations.erase(slot); !erased) return std::move(erased).error();
  return push_free(slot);
}

kernel::LostEvents ServerProbeObject::lost_events() const {
  return with_skeleton([](const auto& skeleton) { return kernel::lost_events(skeleton); });
}

std::optional<kernel::ProgramStats> ServerProbeObject::stats() const {
  return with_skeleton([](const auto& skeleton) { return kernel::object_stats(skeleton.obj); });
}

}  // namespace ioc_exporter::puts
