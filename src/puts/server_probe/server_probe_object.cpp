#include "puts/server_probe/server_probe_object.h"

#include <bpf/bpf.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <variant>

#include "ca_server_probe.skel.h"
#include "iocs/elf/rsrv_functions.h"
#include "kernel/libbpf_support.h"
#include "kernel/map.h"
#include "kernel/uprobe.h"
#include "pva_server_probe.skel.h"

namespace ioc_exporter::ca {
namespace {

static_assert(sizeof(iocx_server_ioc) == 24 && sizeof(iocx_ca_server_key) == 40);
static_assert(sizeof(iocx_pva_key) == 296 && offsetof(iocx_pva_key, user) == 160 &&
              offsetof(iocx_pva_key, peer) == 240);
static_assert(sizeof(iocx_server_slot) == 128 && offsetof(iocx_server_slot, who) == 40 &&
              offsetof(iocx_server_slot, state) == 56 && offsetof(iocx_server_slot, id) == 64 &&
              offsetof(iocx_server_slot, data_at) == 96);
static_assert(sizeof(iocx_ca_server_info) == 440 && offsetof(iocx_ca_server_info, name) == 168);
static_assert(sizeof(iocx_server_result) == 128 && offsetof(iocx_server_result, notify) == 96);
static_assert(sizeof(iocx_server_rest) == 24 + 8 * IOCX_FAILURES);
static_assert(IOCX_PVA_DROP_FULL == int{IOCX_SERVER_DROP_FULL} &&
              IOCX_PVA_DROP_UNREADABLE == int{IOCX_SERVER_DROP_UNREADABLE});

// That serve clients, and whose last puts' results the put log waits for.
constexpr std::uint32_t kThreads = 8192;

template <auto destroy>
struct Destroy {
  void operator()(auto* skeleton) const { destroy(skeleton); }
};
using Ca = std::unique_ptr<ca_server_probe_bpf, Destroy<ca_server_probe_bpf__destroy>>;
using Pva = std::unique_ptr<pva_server_probe_bpf, Destroy<pva_server_probe_bpf__destroy>>;

// HelperRequest::what of CA's requests; those of PV Access follow.
constexpr std::uint32_t kRequest = 16;

// By the numbers of functions.
constexpr std::array kCaPrograms{"ca_write",        "ca_write_notify", "ca_send_err",
                                 "ca_notify_start", "ca_notify_done",  "ca_notify_canc",
                                 "ca_flush"};
constexpr std::array kPvaPrograms{"pva_single_put", "pva_single_put", "pva_group_put",
                                  "pva_group_put",  "pva_put_done",   "pva_put_done",
                                  "pva_on_put",     "pva_on_put",     "pva_on_put",
                                  "pva_error",      "pva_error"};

iocs::Attacher attacher_of(ServerProtocol protocol, const bpf_object* object) {
  const bool is_ca = protocol == ServerProtocol::ca;
  std::vector<iocs::FunctionPrograms> programs;
  for (const char* const function : function_names(protocol)) {
    const std::size_t i = programs.size();
    programs.push_back({{function}, is_ca ? kCaPrograms.at(i) : kPvaPrograms.at(i)});
    if (is_ca) programs.back().is_unnamed = iocs::is_rsrv_function;
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
    bpf_object__for_each_program(program, skeleton.obj) kernel::set_attach_type(program, *type);
  }
  const auto& maps = skeleton.maps;
  for (bpf_map* map :
       {maps.slot_by_key, maps.server_slots, maps.slot_info, maps.slot_results, maps.free_slots})
    if (auto ok = kernel::size_map(map, options.slots); !ok) return ok;
  skeleton.rodata->cfg_slots = options.slots;
  skeleton.rodata->cfg_traces = options.traces.on();
  if (auto ok = kernel::use_ring(skeleton, options.ring, name); !ok) return ok;
  return kernel::share_or_leave_out({&puts, 1}, options.traces.on(), name);
}

}  // namespace

struct ServerProbeObject::Loaded {
  std::variant<Ca, Pva> skeleton;
  std::uint32_t max_slots = 0;
  bool has_put_log = false;
  std::optional<iocs::Attacher> attacher;
  kernel::MapMemory slots, results, shares;
  ServerProbeMaps views;

  bpf_object* object() const {
    return std::visit([](const auto& one) { return one->obj; }, skeleton);
  }
  Result<void> open_views() {
    return std::visit(
        [this](const auto& one) -> Result<void> {
          const auto& maps = one->maps;
          if (auto ok = kernel::open_view(views.iocs, maps.server_iocs); !ok) return ok;
          if (auto ok = kernel::open_view(views.rest, maps.server_rest); !ok) return ok;
          if (auto ok = kernel::open_view(views.drops, maps.server_drops); !ok) return ok;
          if (auto ok = kernel::map_memory(slots, maps.server_slots); !ok) return ok;
          if (auto ok = kernel::map_memory(results, maps.slot_results); !ok) return ok;
          return kernel::map_memory(shares, maps.slot_shares);
        },
        skeleton);
  }
  Result<void> load_ca(const Options& options) {
    Ca ca(ca_server_probe_bpf__open());
    if (!ca) return kernel::libbpf_error(-errno, "open BPF object ca_server_probe");
    if (auto ok = configure(*ca, options, {ca->maps.trace_puts, options.traces.puts}); !ok)
      return ok;
    if (auto ok = kernel::size_map(ca->maps.slot_durations, options.slots); !ok) return ok;
    if (auto ok = kernel::size_map(ca->maps.putlog_threads, has_put_log ? kThreads : 1); !ok)
      return ok;
    if (const int err = ca_server_probe_bpf__load(ca.get()); err < 0)
      return kernel::libbpf_error(err, "load BPF object ca_server_probe");
    if (auto ok = kernel::open_view(views.durations, ca->maps.slot_durations); !ok) return ok;
    if (auto ok = kernel::open_view(views.ca_slots, ca->maps.slot_by_key); !ok) return ok;
    if (auto ok = kernel::open_view(views.ca_info, ca->maps.slot_info); !ok) return ok;
    skeleton = std::move(ca);
    return {};
  }
  Result<void> load_pva(const Options& options) {
    Pva pva(pva_server_probe_bpf__open());
    if (!pva) return kernel::libbpf_error(-errno, "open BPF object pva_server_probe");
    if (auto ok = configure(*pva, options, {pva->maps.trace_pva_puts, options.traces.pva_puts});
        !ok)
      return ok;
    if (const int err =
            options.traces.on() ? 0 : bpf_map__set_autocreate(pva->maps.zero_trace_put, false);
        err < 0)
      return kernel::libbpf_error(err, "leave out a BPF map");
    if (const int err = pva_server_probe_bpf__load(pva.get()); err < 0)
      return kernel::libbpf_error(err, "load BPF object pva_server_probe");
    if (auto ok = kernel::open_view(views.pva_slots, pva->maps.slot_by_key); !ok) return ok;
    if (auto ok = kernel::open_view(views.pva_info, pva->maps.slot_info); !ok) return ok;
    skeleton = std::move(pva);
    return {};
  }
  Result<void> push_free(std::uint32_t slot) const {
    const bpf_map* const queue =
        std::visit([](const auto& one) { return one->maps.free_slots; }, skeleton);
    const int err = bpf_map_update_elem(bpf_map__fd(queue), nullptr, &slot, BPF_ANY);
    if (err < 0) return kernel::libbpf_error(err, "write to BPF map free_slots");
    return {};
  }
};

ServerProbeObject::ServerProbeObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
ServerProbeObject::ServerProbeObject(ServerProbeObject&&) noexcept = default;
ServerProbeObject& ServerProbeObject::operator=(ServerProbeObject&&) noexcept = default;
ServerProbeObject::~ServerProbeObject() = default;

Result<ServerProbeObject> ServerProbeObject::load(const Options& options) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->max_slots = options.slots;
  loaded->has_put_log = options.ring.fd >= 0;
  const bool is_ca = options.protocol == ServerProtocol::ca;
  if (auto ok = is_ca ? loaded->load_ca(options) : loaded->load_pva(options); !ok)
    return ok.error();
  if (auto ok = loaded->open_views(); !ok) return ok.error();
  loaded->attacher.emplace(attacher_of(options.protocol, loaded->object()));
  for (std::uint32_t slot = 0; slot < options.slots; ++slot)
    if (auto ok = loaded->push_free(slot); !ok) return ok.error();
  return ServerProbeObject(std::move(loaded));
}

ServerProtocol ServerProbeObject::protocol() const {
  return std::holds_alternative<Ca>(loaded_->skeleton) ? ServerProtocol::ca : ServerProtocol::pva;
}

iocs::Attacher& ServerProbeObject::attacher() const {
  return *loaded_->attacher;
}

const ServerProbeMaps& ServerProbeObject::maps() const {
  return loaded_->views;
}

bool ServerProbeObject::has_put_log() const {
  return loaded_->has_put_log;
}

std::uint32_t ServerProbeObject::max_slots() const {
  return loaded_->max_slots;
}

const iocx_server_slot* ServerProbeObject::slots() const {
  return static_cast<const iocx_server_slot*>(loaded_->slots.data());
}

iocx_server_result* ServerProbeObject::results() const {
  return static_cast<iocx_server_result*>(loaded_->results.data());
}

std::uint64_t ServerProbeObject::held() const {
  const auto* const held = static_cast<const std::uint64_t*>(loaded_->shares.data());
  return __atomic_load_n(&held[IOCX_SERVER_SHARE_ALL], __ATOMIC_ACQUIRE);
}

Result<void> ServerProbeObject::give_up(std::uint32_t slot) const {
  const auto erase = [slot](const auto& info, const auto& slots, auto key_of) -> Result<void> {
    const auto about = info.lookup(slot);
    if (!about) return about.error();
    if (!*about) return {};
    const auto erased = slots.erase(key_of(**about));
    return erased ? Result<void>() : erased.error();
  };
  const ServerProbeMaps& views = loaded_->views;
  const auto itself = [](const auto& key) { return key; };
  const auto key_of = [](const auto& info) { return info.key; };
  if (auto ok = protocol() == ServerProtocol::ca ? erase(views.ca_info, views.ca_slots, key_of)
                                                 : erase(views.pva_info, views.pva_slots, itself);
      !ok)
    return ok;
  auto* const slots = static_cast<iocx_server_slot*>(loaded_->slots.data());
  __atomic_store_n(&slots[slot].state, IOCX_SLOT_GIVEN_UP, __ATOMIC_RELEASE);
  return {};
}

Result<void> ServerProbeObject::give_slot(std::uint32_t slot) const {
  iocx_server_slot& freed = static_cast<iocx_server_slot*>(loaded_->slots.data())[slot];
  auto* const held = static_cast<std::uint64_t*>(loaded_->shares.data());
  for (const std::uint32_t holder :
       {IOCX_SERVER_SHARE_ALL, freed.holder_client, freed.holder_ioc, freed.holder_user})
    __atomic_fetch_sub(&held[holder], 1, __ATOMIC_RELAXED);
  freed = {};
  results()[slot] = {};
  if (protocol() == ServerProtocol::ca)
    if (auto erased = loaded_->views.durations.erase(slot); !erased)
      return std::move(erased).error();
  return loaded_->push_free(slot);
}

kernel::LostEvents ServerProbeObject::lost_events() const {
  return std::visit([](const auto& one) { return kernel::lost_events(*one); }, loaded_->skeleton);
}

std::optional<kernel::ProgramStats> ServerProbeObject::stats() const {
  std::optional<kernel::ProgramStats> sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, loaded_->object())
      kernel::add_stats(sum, kernel::program_stats(program));
  return sum;
}

}  // namespace ioc_exporter::ca
