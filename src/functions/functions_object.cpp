#include "functions/functions_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "functions.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/uprobe.h"

namespace ioc_exporter::functions {
namespace {

static_assert(sizeof(iocx_function) == 7 * sizeof(iocx_function_value) + 16 &&
              offsetof(iocx_function, flags) == 224);
static_assert(sizeof(iocx_function_place_key) == 16 && sizeof(iocx_function_place) == 40);
static_assert(sizeof(iocx_function_key) == 136 && sizeof(iocx_function_few_key) == 24);
static_assert(sizeof(iocx_function_series) == 168 && offsetof(iocx_function_series, key) == 32);
static_assert(sizeof(iocx_function_result_key) == 16 && sizeof(iocx_function_result) == 16);
static_assert(sizeof(iocx_function_thread_key) == 16 && sizeof(iocx_function_call) == 24 &&
              offsetof(iocx_function_thread, calls) == 16);
static_assert(sizeof(iocx_function_start_key) == 16 && sizeof(iocx_function_start) == 16);
static_assert(sizeof(iocx_function_pointer_key) == 16);

// HelperRequest::what at entries; at ends one more.
constexpr std::uint32_t kRequest = 20;
constexpr std::uint32_t kPlaces = 32'768, kResults = 8192, kThreads = 8192, kStarts = 16'384,
                        kPointers = 4096;

}  // namespace

struct FunctionsObject::Loaded {
  struct Deleter {
    void operator()(functions_bpf* object) const { functions_bpf__destroy(object); }
  };
  std::unique_ptr<functions_bpf, Deleter> skeleton;
  std::optional<iocs::Attacher> attacher;
  kernel::MapMemory series, times;
  FunctionMaps views;

  Result<void> configure() {
    if (const auto& type = kernel::uprobe_link_type()) {
      bpf_program* program = nullptr;
      bpf_object__for_each_program(program, skeleton->obj) kernel::set_attach_type(program, *type);
    }
    auto& bounds = skeleton->rodata->cfg_bounds;
    bounds[IOCX_FUNCTION_SHARE_SERIES] = kernel::usual_bound(kSeries - kOwnSeries);
    bounds[IOCX_FUNCTION_SHARE_RESULTS] = kernel::usual_bound(kResults);
    bounds[IOCX_FUNCTION_SHARE_THREADS] = kernel::usual_bound(kThreads);
    bounds[IOCX_FUNCTION_SHARE_STARTS] = kernel::usual_bound(kStarts);
    bounds[IOCX_FUNCTION_SHARE_POINTERS] = kernel::usual_bound(kPointers);
    const auto& maps = skeleton->maps;
    const std::pair<bpf_map*, std::uint32_t> sizes[] = {
        {maps.function_places, kPlaces},   {maps.series_by_few, kSeries},
        {maps.series_by_key, kSeries},     {maps.function_series, kSeries},
        {maps.function_times, kSeries},    {maps.free_series, kSeries},
        {maps.function_results, kResults}, {maps.function_threads, kThreads},
        {maps.function_starts, kStarts},   {maps.function_pointers, kPointers}};
    for (const auto& [map, entries] : sizes)
      if (auto ok = kernel::size_map(map, entries); !ok) return ok;
    return {};
  }

  Result<void> open_views() {
    const auto& maps = skeleton->maps;
    if (auto ok = kernel::open_view(views.places, maps.function_places); !ok) return ok;
    if (auto ok = kernel::open_view(views.functions, maps.functions); !ok) return ok;
    if (auto ok = kernel::open_view(views.by_few, maps.series_by_few); !ok) return ok;
    if (auto ok = kernel::open_view(views.by_key, maps.series_by_key); !ok) return ok;
    if (auto ok = kernel::open_view(views.results, maps.function_results); !ok) return ok;
    if (auto ok = kernel::open_view(views.threads, maps.function_threads); !ok) return ok;
    if (auto ok = kernel::open_view(views.starts, maps.function_starts); !ok) return ok;
    if (auto ok = kernel::open_view(views.pointers, maps.function_pointers); !ok) return ok;
    if (auto ok = kernel::open_view(views.drops, maps.function_drops); !ok) return ok;
    if (auto ok = kernel::map_memory(series, maps.function_series); !ok) return ok;
    if (auto ok = kernel::map_memory(times, maps.function_times); !ok) return ok;
    auto shares =
        kernel::Shares::map(bpf_map__fd(maps.function_shares), IOCX_RECORD_HOLDERS,
                            bpf_map__name(maps.function_shares), skeleton->rodata->cfg_bounds);
    if (!shares) return std::move(shares).error();
    views.shares = std::move(*shares);
    return {};
  }
};

FunctionsObject::FunctionsObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
FunctionsObject::FunctionsObject(FunctionsObject&&) noexcept = default;
FunctionsObject& FunctionsObject::operator=(FunctionsObject&&) noexcept = default;
FunctionsObject::~FunctionsObject() = default;

Result<FunctionsObject> FunctionsObject::load() {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(functions_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object functions");
  if (auto ok = loaded->configure(); !ok) return ok.error();
  if (const int err = functions_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object functions");
  if (auto ok = loaded->open_views(); !ok) return ok.error();
  const iocs::FunctionPrograms plain{
      .entry = "function_entry", .at_end = "function_end", .ends = iocs::Places::any};
  iocs::FunctionPrograms with_result = plain;
  with_result.ends = iocs::Places::with_result;
  loaded->attacher.emplace(kRequest, std::vector{plain, with_result}, loaded->skeleton->obj,
                           kernel::uprobe_link_type());
  FunctionsObject object(std::move(loaded));
  for (std::uint32_t series = kOwnSeries; series < kSeries; ++series)
    if (auto ok = object.push_free(series); !ok) return ok.error();
  return object;
}

iocs::Attacher& FunctionsObject::attacher() const {
  return *loaded_->attacher;
}

const FunctionMaps& FunctionsObject::maps() const {
  return loaded_->views;
}

iocx_function_series* FunctionsObject::series() const {
  return static_cast<iocx_function_series*>(loaded_->series.data());
}

iocx_function_times* FunctionsObject::times() const {
  return static_cast<iocx_function_times*>(loaded_->times.data());
}

Result<void> FunctionsObject::push_free(std::uint32_t series) const {
  const int map = bpf_map__fd(loaded_->skeleton->maps.free_series);
  const int err = bpf_map_update_elem(map, nullptr, &series, BPF_ANY);
  return err < 0 ? kernel::libbpf_error(err, "write to BPF map free_series") : Result<void>();
}

std::optional<kernel::ProgramStats> FunctionsObject::stats() const {
  return kernel::object_stats(loaded_->skeleton->obj);
}

}  // namespace ioc_exporter::functions
