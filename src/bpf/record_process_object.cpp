#include "bpf/record_process_object.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "bpf/libbpf_support.h"
#include "record_process.skel.h"

namespace ioc_exporter::bpf {
namespace {

struct SkeletonDeleter {
  void operator()(record_process_bpf* skeleton) const { record_process_bpf__destroy(skeleton); }
};

Result<LinkPtr> attach_one(const bpf_program* program, bool at_return, const std::string& path,
                           std::uint64_t offset, std::int32_t pid) {
  LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return);
  LinkPtr link(bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options));
  if (link) return link;
  const int err = -errno;
  return libbpf_error(err, std::string("attach ") + (at_return ? "uretprobe" : "uprobe") +
                               " dbProcess in " + path +
                               (pid > 0 ? " (pid " + std::to_string(pid) + ")" : ""));
}

}  // namespace

struct RecordAttachment::Links {
  LinkPtr at_return;  // attached first and detached last: an entry never lacks its return
  LinkPtr at_entry;
};

RecordAttachment::RecordAttachment(std::unique_ptr<Links> links) : links_(std::move(links)) {}
RecordAttachment::RecordAttachment(RecordAttachment&&) noexcept = default;
RecordAttachment& RecordAttachment::operator=(RecordAttachment&&) noexcept = default;
RecordAttachment::~RecordAttachment() = default;

struct RecordProcessObject::Loaded {
  std::unique_ptr<record_process_bpf, SkeletonDeleter> skeleton;
  MapView<std::uint32_t, iocx_thread> threads;
  MapView<std::uint32_t, std::uint64_t> thread_owners;
  MapView<std::uint64_t, iocx_thread> overflow_threads;
  MapView<std::uint32_t, std::uint32_t> ioc_by_tgid;
  MapView<std::uint32_t, iocx_ioc_config> ioc_config;
  MapView<std::uint32_t, std::uint64_t> drops;
};

RecordProcessObject::RecordProcessObject(std::unique_ptr<Loaded> loaded)
    : loaded_(std::move(loaded)) {}
RecordProcessObject::RecordProcessObject(RecordProcessObject&&) noexcept = default;
RecordProcessObject& RecordProcessObject::operator=(RecordProcessObject&&) noexcept = default;
RecordProcessObject::~RecordProcessObject() = default;

Result<RecordProcessObject> RecordProcessObject::load(const RecordProcessOptions& options) {
  capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(record_process_bpf__open());
  if (!loaded->skeleton) return libbpf_error(-errno, "open BPF object record_process");
  record_process_bpf* skeleton = loaded->skeleton.get();
  const std::uint32_t places = std::bit_ceil(std::max(options.max_threads, 64u));
  skeleton->rodata->thread_mask = places - 1;
  int err = bpf_map__set_max_entries(skeleton->maps.record_threads, places);
  if (err == 0) err = bpf_map__set_max_entries(skeleton->maps.record_thread_owners, places);
  if (err == 0)
    err =
        bpf_map__set_max_entries(skeleton->maps.record_threads_overflow, std::max(places / 8, 64u));
  if (err < 0) return libbpf_error(err, "size the BPF maps of threads");
  err = record_process_bpf__load(skeleton);
  if (err < 0) return libbpf_error(err, "load BPF object record_process");

  const auto open_view = [](auto& view, const bpf_map* map) -> Result<void> {
    auto opened = std::remove_reference_t<decltype(view)>::from_fd(bpf_map__fd(map));
    if (!opened) return std::move(opened).error();
    view = std::move(*opened);
    return {};
  };
  if (auto ok = open_view(loaded->threads, skeleton->maps.record_threads); !ok) return ok.error();
  if (auto ok = open_view(loaded->thread_owners, skeleton->maps.record_thread_owners); !ok)
    return ok.error();
  if (auto ok = open_view(loaded->overflow_threads, skeleton->maps.record_threads_overflow); !ok)
    return ok.error();
  if (auto ok = open_view(loaded->ioc_by_tgid, skeleton->maps.ioc_by_tgid); !ok) return ok.error();
  if (auto ok = open_view(loaded->ioc_config, skeleton->maps.ioc_config); !ok) return ok.error();
  if (auto ok = open_view(loaded->drops, skeleton->maps.record_drops); !ok) return ok.error();
  return RecordProcessObject(std::move(loaded));
}

Result<RecordAttachment> RecordProcessObject::attach(const bpf_program* entry,
                                                     const std::string& path, std::uint64_t offset,
                                                     std::int32_t pid) const {
  auto at_return = attach_one(loaded_->skeleton->progs.record_return, true, path, offset, pid);
  if (!at_return) return std::move(at_return).error();
  auto at_entry = attach_one(entry, false, path, offset, pid);
  if (!at_entry) return std::move(at_entry).error();
  return RecordAttachment(std::make_unique<RecordAttachment::Links>(
      RecordAttachment::Links{std::move(*at_return), std::move(*at_entry)}));
}

Result<RecordAttachment> RecordProcessObject::attach_to_process(const std::string& path,
                                                                std::uint64_t offset,
                                                                std::int32_t pid) const {
  return attach(loaded_->skeleton->progs.record_entry_process, path, offset, pid);
}

Result<RecordAttachment> RecordProcessObject::attach_to_all(const std::string& path,
                                                            std::uint64_t offset) const {
  constexpr std::int32_t kAllProcesses = -1;
  return attach(loaded_->skeleton->progs.record_entry_all, path, offset, kAllProcesses);
}

Result<OwnedRecordsMap> RecordProcessObject::make_records_map(std::uint32_t capacity) const {
  OwnedRecordsMap made;
  const int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "ioc_records", sizeof(std::uint64_t),
                                sizeof(iocx_record_stats), capacity, nullptr);
  if (fd < 0)
    return libbpf_error(fd, "create BPF map for " + std::to_string(capacity) + " records");
  made.fd.reset(fd);
  auto view = RecordsMap::from_fd(fd);
  if (!view) return std::move(view).error();
  made.view = std::move(*view);
  return made;
}

Result<void> RecordProcessObject::set_records_map(std::uint32_t slot,
                                                  const RecordsMap& records) const {
  const std::uint32_t inner = static_cast<std::uint32_t>(records.fd());
  const int outer = bpf_map__fd(loaded_->skeleton->maps.ioc_records);
  const int err = bpf_map_update_elem(outer, &slot, &inner, BPF_ANY);
  if (err < 0) return libbpf_error(err, "set map of records of slot " + std::to_string(slot));
  return {};
}

Result<void> RecordProcessObject::clear_records_map(std::uint32_t slot) const {
  const int outer = bpf_map__fd(loaded_->skeleton->maps.ioc_records);
  const int err = bpf_map_delete_elem(outer, &slot);
  if (err < 0 && err != -ENOENT)
    return libbpf_error(err, "clear map of records of slot " + std::to_string(slot));
  return {};
}

const MapView<std::uint32_t, std::uint64_t>& RecordProcessObject::thread_owners() const {
  return loaded_->thread_owners;
}
const MapView<std::uint64_t, iocx_thread>& RecordProcessObject::overflow_threads() const {
  return loaded_->overflow_threads;
}
Result<void> RecordProcessObject::free_thread_place(std::uint32_t place) const {
  // In this order: whoever takes the place next finds it empty.
  if (auto cleared = loaded_->threads.update(place, iocx_thread{}); !cleared) return cleared;
  if (auto erased = loaded_->thread_owners.erase(place); !erased) return std::move(erased).error();
  return {};
}
const MapView<std::uint32_t, std::uint32_t>& RecordProcessObject::ioc_by_tgid() const {
  return loaded_->ioc_by_tgid;
}
const MapView<std::uint32_t, iocx_ioc_config>& RecordProcessObject::ioc_config() const {
  return loaded_->ioc_config;
}
const MapView<std::uint32_t, std::uint64_t>& RecordProcessObject::drops() const {
  return loaded_->drops;
}

std::optional<ProgramStats> RecordProcessObject::stats() const {
  std::optional<ProgramStats> sum;
  const auto& programs = loaded_->skeleton->progs;
  for (const bpf_program* program :
       {programs.record_entry_process, programs.record_entry_all, programs.record_return}) {
    const auto one = program_stats(program);
    if (!one) continue;
    if (!sum) sum.emplace();
    sum->runs += one->runs;
    sum->run_time_ns += one->run_time_ns;
  }
  return sum;
}

}  // namespace ioc_exporter::bpf
