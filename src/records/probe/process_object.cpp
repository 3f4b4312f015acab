#include "records/probe/process_object.h"

#include <bpf/bpf.h>
#include <time.h>

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "iocs/find/inspector.h"
#include "kernel/libbpf_support.h"
#include "record_process.skel.h"

namespace ioc_exporter::records {

std::optional<iocx_ending_function> ending_of(RecordProgram program) {
  switch (program) {
    case RecordProgram::process:
      return IOCX_ENDING_PROCESS;
    case RecordProgram::scan_list:
      return IOCX_ENDING_SCAN;
    case RecordProgram::shell:
      return IOCX_ENDING_SHELL;
    case RecordProgram::put_inside:
      return IOCX_ENDING_INSIDE;
    case RecordProgram::notify_inside:
      return IOCX_ENDING_INSIDE_NOTIFY;
    default:
      return std::nullopt;
  }
}

namespace {

// HelperRequest::what.
constexpr std::uint32_t kRequest = 0;

// In the order of RecordProgram.
std::vector<elf::FunctionPrograms> record_programs() {
  auto all = std::to_array<elf::FunctionPrograms>({
      {{"dbProcess"}, "record_entry", "record_entry_all", "record_end"},
      {{"dbPut"}, "put", "put_all"},
      {{"dbCanSetLink"}, "put_lfld", "put_lfld_all"},
      {{"dbPutField"}, "put_field", "put_field_all"},
      {{"dbPutLink"}, "put_link"},
      {{"dbProcessNotify", "dbPutNotify"}, "put_notify"},
      {{"dbpf"}, "put_shell", nullptr, "put_shell_end"},
      {{"scanList"}, "scan", "scan_all", "scan_end"},
      {{"recGblFwdLink"}, "completion", "completion_all"},
      {{"dbCaPutLinkCallback"}, "link_put", "link_put_all"},
      {{iocs::kInsideWrite}, "put_inside", nullptr, "inside_end", 0, 0, nullptr, elf::Places::any},
      {{iocs::kInsideWriteNotify},
       "put_inside_cb",
       nullptr,
       "inside_cb_end",
       0,
       0,
       nullptr,
       elf::Places::any},
      {{"dbPutLink"}, "link_step", "link_step_all"},
  });
  static_assert(all.size() == static_cast<std::size_t>(RecordProgram::link_step) + 1);
  for (elf::FunctionPrograms& programs : all) {
    programs.cookie = IOCX_ATTACH_PROCESS;
    programs.cookie_all = IOCX_ATTACH_ALL;
  }
  return {all.begin(), all.end()};
}

// The coarse clocks go on by ticks (kernel/time/timekeeping.c): their resolution is 1 / CONFIG_HZ.
std::uint32_t cold_ticks() {
  constexpr long kPause = 5'000'000;  // ns
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_nsec <= 0) return 2;
  return static_cast<std::uint32_t>(std::max(2L, kPause / tick.tv_nsec + 1));
}

struct SkeletonDeleter {
  void operator()(record_process_bpf* skeleton) const { record_process_bpf__destroy(skeleton); }
};

// Maps of one IOC, by record, within a map by slot. `like` is the template of that map: Linux 5.15
// to 6.1 take only maps whose types are described by BTF like the template's (bpf_map_meta_equal()
// compares timer_off, which is another error where there is no BTF; kernel/bpf/map_in_map.c).
template <class Value>
Result<kernel::OwnedMap<std::uint64_t, Value>> make_inner(const char* name, std::uint32_t capacity,
                                                          const bpf_object* object,
                                                          const bpf_map* like) {
  kernel::OwnedMap<std::uint64_t, Value> made;
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.map_flags = bpf_map__map_flags(like);
  if (bpf_map__btf_value_type_id(like) != 0) {
    options.btf_fd = static_cast<__u32>(bpf_object__btf_fd(object));
    options.btf_key_type_id = bpf_map__btf_key_type_id(like);
    options.btf_value_type_id = bpf_map__btf_value_type_id(like);
  }
  const int fd = bpf_map_create(BPF_MAP_TYPE_HASH, name, sizeof(std::uint64_t), sizeof(Value),
                                capacity, &options);
  if (fd < 0)
    return kernel::libbpf_error(fd, std::string("create BPF map ") + name + " for " +
                                        std::to_string(capacity) + " records");
  made.fd.reset(fd);
  auto view = kernel::MapView<std::uint64_t, Value>::from_fd(fd);
  if (!view) return std::move(view).error();
  made.view = std::move(*view);
  return made;
}

Result<void> set_inner(const bpf_map* outer, std::uint32_t slot, int fd) {
  const std::uint32_t inner = static_cast<std::uint32_t>(fd);
  const int err = bpf_map_update_elem(bpf_map__fd(outer), &slot, &inner, BPF_ANY);
  if (err == 0) return {};
  return kernel::libbpf_error(
      err, std::string("set slot ") + std::to_string(slot) + " of BPF map " + bpf_map__name(outer));
}

Result<void> clear_inner(const bpf_map* outer, std::uint32_t slot) {
  const int err = bpf_map_delete_elem(bpf_map__fd(outer), &slot);
  if (err == 0 || err == -ENOENT) return {};
  return kernel::libbpf_error(err, std::string("clear slot ") + std::to_string(slot) +
                                       " of BPF map " + bpf_map__name(outer));
}

}  // namespace

struct RecordProcessObject::Loaded {
  std::unique_ptr<record_process_bpf, SkeletonDeleter> skeleton;
  std::optional<elf::Attacher> attacher;
  kernel::MapView<std::uint32_t, iocx_thread> threads;
  RecordMaps views;
};

RecordProcessObject::RecordProcessObject(std::unique_ptr<Loaded> loaded)
    : loaded_(std::move(loaded)) {}
RecordProcessObject::RecordProcessObject(RecordProcessObject&&) noexcept = default;
RecordProcessObject& RecordProcessObject::operator=(RecordProcessObject&&) noexcept = default;
RecordProcessObject::~RecordProcessObject() = default;

Result<void> RecordProcessObject::open_views(Loaded& loaded) {
  const auto& maps = loaded.skeleton->maps;
  RecordMaps& views = loaded.views;
  if (auto ok = kernel::open_view(loaded.threads, maps.record_threads); !ok) return ok;
  if (auto ok = kernel::open_view(views.thread_owners, maps.record_thread_owners); !ok) return ok;
  if (auto ok = kernel::open_view(views.overflow_threads, maps.record_threads_overflow); !ok)
    return ok;
  if (auto ok = kernel::open_view(views.ioc_by_tgid, maps.ioc_by_tgid); !ok) return ok;
  if (auto ok = kernel::open_view(views.ioc_config, maps.ioc_config); !ok) return ok;
  if (auto ok = kernel::open_view(views.scan_names, maps.scan_names); !ok) return ok;
  if (auto ok = kernel::open_view(views.causes, maps.record_causes); !ok) return ok;
  if (auto ok = kernel::open_view(views.asynchronous, maps.ioc_asynchronous); !ok) return ok;
  if (auto ok = kernel::open_view(views.drops, maps.record_drops); !ok) return ok;
  if (auto ok = kernel::open_view(views.put_config, maps.put_config); !ok) return ok;
  if (auto ok = kernel::open_view(views.function_ends, maps.function_ends); !ok) return ok;
  if (auto ok = kernel::open_view(views.scan_lists, maps.scan_lists); !ok) return ok;
  if (loaded.skeleton->rodata->cfg_traces != 0) {
    RecordTraceMaps& traces = views.traces;
    if (auto ok = kernel::open_view(traces.config, maps.trace_config); !ok) return ok;
    if (auto ok = kernel::open_view(traces.lots, maps.trace_lots); !ok) return ok;
    if (auto ok = kernel::open_view(traces.wishes, maps.trace_wishes); !ok) return ok;
    if (auto ok = kernel::open_view(traces.counts, maps.trace_counts); !ok) return ok;
    if (auto ok = kernel::open_view(traces.links, maps.trace_links); !ok) return ok;
  }
  kernel::MapMemory threads, asynchronous, rooms, lines, times, chunks;
  if (auto ok = kernel::map_memory(threads, maps.record_threads); !ok) return ok;
  if (auto ok = kernel::map_memory(asynchronous, maps.ioc_asynchronous); !ok) return ok;
  if (auto ok = kernel::map_memory(rooms, maps.record_rooms); !ok) return ok;
  if (auto ok = kernel::map_memory(lines, maps.record_lines); !ok) return ok;
  if (auto ok = kernel::map_memory(times, maps.line_times); !ok) return ok;
  if (auto ok = kernel::map_memory(chunks, maps.line_chunks); !ok) return ok;
  views.threads = {std::move(threads), bpf_map__max_entries(maps.record_threads)};
  views.asynchronous_now = {std::move(asynchronous), views.asynchronous.capacity()};
  views.rooms = RecordRooms(std::move(rooms));
  views.lines = {bpf_map__max_entries(maps.record_lines), std::move(lines), std::move(times),
                 std::move(chunks)};
  return kernel::map_caps(views.caps, maps.record_held, loaded.skeleton->rodata->cfg_caps);
}

Result<void> RecordProcessObject::configure_traces(Loaded& loaded, const kernel::TraceUse& traces) {
  auto& skeleton = *loaded.skeleton;
  const auto& maps = skeleton.maps;
  const kernel::SharedMap shared[] = {{maps.trace_events, traces.ring},
                                      {maps.trace_shares, traces.shares},
                                      {maps.trace_puts, traces.puts},
                                      {maps.trace_pva_puts, traces.pva_puts}};
  if (auto ok = kernel::share_or_leave_out(shared, traces.on(), "record_process"); !ok) return ok;
  skeleton.rodata->cfg_traces = traces.on();
  skeleton.rodata->cfg_trace_wake = traces.wake_at;
  skeleton.rodata->cfg_trace_ring = traces.size;
  if (traces.on()) return kernel::size_map(maps.trace_threads, skeleton.rodata->thread_mask + 1);
  for (bpf_map* map : {maps.trace_threads, maps.trace_config, maps.trace_lots, maps.trace_wishes,
                       maps.trace_pending, maps.trace_counts, maps.trace_links})
    if (const int err = bpf_map__set_autocreate(map, false); err < 0)
      return kernel::libbpf_error(err, "leave out a BPF map");
  return {};
}

// Configuration before loading.
Result<void> RecordProcessObject::configure(Loaded& loaded, const RecordProcessOptions& options) {
  record_process_bpf& skeleton = *loaded.skeleton;
  const std::uint32_t places = std::bit_ceil(std::max(options.max_threads, 64u));
  skeleton.rodata->thread_mask = places - 1;
  skeleton.rodata->cfg_causes = options.causes > 0;
  skeleton.rodata->cfg_cold_ticks = cold_ticks();
  const bool links = loaded.attacher->has_links();
  skeleton.rodata->cfg_cookies = links;
  const auto is_needed = [&](const std::string_view name) {
    if (name.starts_with("link_") && !options.traces.on()) return false;
    return !name.ends_with("_all") || !links;  // a cookie says it
  };
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj) {
    const std::string_view name = bpf_program__name(program);
    bpf_program__set_autoload(program, is_needed(name));
    if (links) kernel::set_attach_type(program, *kernel::uprobe_link_type());
  }
  if (auto ok = configure_traces(loaded, options.traces); !ok) return ok;
  const auto& maps = skeleton.maps;
  // A record takes its place when it is processed for the first time, not when the map is made.
  if (options.on_demand && kernel::allocates_entries_on_demand())
    for (bpf_map* like :
         {maps.ioc_records_template, maps.ioc_completions_template,
          bpf_map__inner_map(maps.ioc_records), bpf_map__inner_map(maps.ioc_completions)})
      if (const int err = bpf_map__set_map_flags(like, BPF_F_NO_PREALLOC); err != 0)
        return kernel::libbpf_error(err, "let a BPF map grow with its use");
  const std::uint32_t overflow = std::max(places / 8, 64u);
  const std::uint32_t lines = RecordLines::lines_for(options.kernel_memory);
  const std::uint32_t chunks = lines / IOCX_CHUNK_LINES;
  const std::uint32_t causes = std::max(options.causes, 1u);
  auto& caps = skeleton.rodata->cfg_caps;
  caps[IOCX_HELD_THREADS] = iocx_cap(places);
  caps[IOCX_HELD_OVERFLOW_THREADS] = iocx_cap(overflow);
  caps[IOCX_HELD_CAUSES] = iocx_cap(causes);
  caps[IOCX_HELD_SCAN_LISTS] = iocx_cap(options.scan_lists);
  caps[IOCX_HELD_LINES] = iocx_cap(chunks);
  skeleton.rodata->chunk_mask = chunks - 1;
  if (auto ok = kernel::size_map(maps.record_lines, lines); !ok) return ok;
  if (auto ok = kernel::size_map(maps.line_times, lines); !ok) return ok;
  if (auto ok = kernel::size_map(maps.line_chunks, chunks); !ok) return ok;
  if (auto ok = kernel::size_map(maps.record_threads, places); !ok) return ok;
  if (auto ok = kernel::size_map(maps.record_thread_owners, places); !ok) return ok;
  if (auto ok = kernel::size_map(maps.record_threads_overflow, overflow); !ok) return ok;
  if (auto ok = kernel::size_map(maps.scan_lists, options.scan_lists); !ok) return ok;
  if (auto ok = kernel::size_map(maps.scan_names, options.scan_names); !ok) return ok;
  return kernel::size_map(maps.record_causes, causes);
}

Result<std::unique_ptr<RecordProcessObject::Loaded>> RecordProcessObject::load_once(
    const RecordProcessOptions& options) {
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(record_process_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object record_process");
  loaded->attacher.emplace(kRequest, record_programs(), loaded->skeleton->obj,
                           options.probe_links ? kernel::uprobe_link_type() : std::nullopt);
  if (auto ok = configure(*loaded, options); !ok) return ok.error();
  const int err = record_process_bpf__load(loaded->skeleton.get());
  if (err < 0) return kernel::libbpf_error(err, "load BPF object record_process");
  if (auto ok = open_views(*loaded); !ok) return ok.error();
  return loaded;
}

Result<RecordProcessObject> RecordProcessObject::load(const RecordProcessOptions& options) {
  kernel::capture_libbpf_messages();
  auto loaded = load_once(options);
  if (!loaded && options.probe_links && kernel::uprobe_link_type()) {
    log::warn("links of probes are not used: {}", loaded.error().message());
    RecordProcessOptions plain = options;
    plain.probe_links = false;
    loaded = load_once(plain);
  }
  if (!loaded) return std::move(loaded).error();
  return RecordProcessObject(std::move(*loaded));
}

bool RecordProcessObject::grows_with_use() const {
  return (bpf_map__map_flags(loaded_->skeleton->maps.ioc_records_template) & BPF_F_NO_PREALLOC) !=
         0;
}

elf::Attacher& RecordProcessObject::attacher() const {
  return *loaded_->attacher;
}

Result<OwnedRecordsMap> RecordProcessObject::make_records_map(std::uint32_t capacity) const {
  return make_inner<iocx_record_stats>("ioc_records", capacity, loaded_->skeleton->obj,
                                       loaded_->skeleton->maps.ioc_records_template);
}
Result<void> RecordProcessObject::set_records_map(std::uint32_t slot,
                                                  const RecordsMap& records) const {
  return set_inner(loaded_->skeleton->maps.ioc_records, slot, records.fd());
}
Result<void> RecordProcessObject::set_records_maps(
    std::span<const std::pair<std::uint32_t, int>> slots_and_fds) const {
  const bpf_map* outer = loaded_->skeleton->maps.ioc_records;
  std::vector<std::uint32_t> slots, maps;
  for (const auto& [slot, fd] : slots_and_fds) {
    slots.push_back(slot);
    maps.push_back(static_cast<std::uint32_t>(fd));
  }
  std::uint32_t count = static_cast<std::uint32_t>(slots.size());
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  if (slots.empty() ||
      bpf_map_update_batch(bpf_map__fd(outer), slots.data(), maps.data(), &count, &options) == 0)
    return {};
  for (const auto& [slot, fd] : slots_and_fds)
    if (auto ok = set_inner(outer, slot, fd); !ok) return ok;
  return {};
}
Result<void> RecordProcessObject::clear_records_map(std::uint32_t slot) const {
  return clear_inner(loaded_->skeleton->maps.ioc_records, slot);
}

const RecordMaps& RecordProcessObject::maps() const {
  return loaded_->views;
}

Result<OwnedCompletionsMap> RecordProcessObject::make_completions_map(
    std::uint32_t capacity) const {
  return make_inner<iocx_completion>("ioc_completions", capacity, loaded_->skeleton->obj,
                                     loaded_->skeleton->maps.ioc_completions_template);
}
Result<void> RecordProcessObject::set_completions_map(std::uint32_t slot,
                                                      const OwnedCompletionsMap& map) const {
  return set_inner(loaded_->skeleton->maps.ioc_completions, slot, map.view.fd());
}
Result<void> RecordProcessObject::clear_completions_map(std::uint32_t slot) const {
  return clear_inner(loaded_->skeleton->maps.ioc_completions, slot);
}

Result<void> RecordProcessObject::free_thread_place(std::uint32_t place) const {
  // In this order: the next holder of the place finds it empty.
  if (auto cleared = loaded_->threads.update(place, iocx_thread{}); !cleared) return cleared;
  if (auto erased = loaded_->views.thread_owners.erase(place); !erased)
    return std::move(erased).error();
  return {};
}

std::optional<kernel::ProgramStats> RecordProcessObject::stats() const {
  return kernel::object_stats(loaded_->skeleton->obj);
}

}  // namespace ioc_exporter::records
