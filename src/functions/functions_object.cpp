#include "functions/functions_object.h"

#include <bpf/bpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "functions.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/uprobe.h"
#include "shared/attach.h"

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
// For a descriptor; its number is an index of kDescriptors.
constexpr std::uint32_t kDescriptor = 22;
constexpr std::chrono::seconds kPatience{30};  // until they are loaded

enum Descriptor : std::uint32_t {
  kPlaces,
  kFunctions,
  kByFew,
  kByKey,
  kResults,
  kThreads,
  kStarts,
  kPointers,
  kDrops,
  kSeriesMap,
  kTimes,
  kHeld,
  kFree,
  kEntry,
  kEnd,
  kEntryForAll  // where cookies do not say it
};
constexpr const char* kDescriptors[] = {
    "function_places",  "functions",        "series_by_few",   "series_by_key",
    "function_results", "function_threads", "function_starts", "function_pointers",
    "function_drops",   "function_series",  "function_times",  "function_held",
    "free_series",      "function_entry",   "function_end",    "function_entry_all"};
static_assert(std::size(kDescriptors) == kEntryForAll + 1);

void set_caps(__u32 (&caps)[IOCX_CAPPED_TABLES]) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRooms[] = {
      {IOCX_FUNCTION_HELD_SERIES, FunctionsObject::kSeries - FunctionsObject::kOwnSeries},
      {IOCX_FUNCTION_HELD_RESULTS, IOCX_FUNCTION_RESULTS},
      {IOCX_FUNCTION_HELD_THREADS, IOCX_FUNCTION_THREADS},
      {IOCX_FUNCTION_HELD_STARTS, IOCX_FUNCTION_STARTS},
      {IOCX_FUNCTION_HELD_POINTERS, IOCX_FUNCTION_POINTERS},
      {IOCX_FUNCTION_HELD_PLACES, IOCX_FUNCTION_PLACES},
      {IOCX_FUNCTION_HELD_OWN, FunctionsObject::kOwnSeries},
      {IOCX_FUNCTION_HELD_PROBED, FunctionsObject::kProbed}};
  for (const auto& [table, room] : kRooms) caps[table] = iocx_cap(room);
}

// `object`: null where a helper attaches.
elf::Attacher attacher_of(const bpf_object* object) {
  const elf::FunctionPrograms plain{.entry = kDescriptors[kEntry],
                                    .entry_all = kDescriptors[kEntryForAll],
                                    .at_end = kDescriptors[kEnd],
                                    .cookie = IOCX_ATTACH_PROCESS,
                                    .cookie_all = IOCX_ATTACH_ALL,
                                    .ends = elf::Places::any};
  elf::FunctionPrograms with_result = plain;
  with_result.ends = elf::Places::with_result;
  return {kRequest, {plain, with_result}, object, kernel::uprobe_link_type()};
}

}  // namespace

bool FunctionsServer::serves(const HelperRequest& request) {
  return request.what - kRequest <= kDescriptor - kRequest;
}

bool FunctionsServer::loads(const HelperRequest& request) {
  return request.what == kDescriptor;
}

Result<void> FunctionsServer::load() {
  if (attacher_) return {};
  kernel::capture_libbpf_messages();
  loaded_ = {functions_bpf__open(), functions_bpf__destroy};
  if (!loaded_) return kernel::libbpf_error(-errno, "open BPF object functions");
  if (const auto& type = kernel::uprobe_link_type()) {
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, loaded_->obj) kernel::set_attach_type(program, *type);
    loaded_->rodata->cfg_cookies = 1;
    bpf_program__set_autoload(loaded_->progs.function_entry_all, false);
  }
  set_caps(loaded_->rodata->cfg_caps);
  if (const int err = functions_bpf__load(loaded_.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object functions");
  attacher_ = attacher_of(loaded_->obj);
  return {};
}

Result<UniqueFd> FunctionsServer::serve(const HelperRequest& request, const UniqueFd& file) {
  if (!loads(request) && attacher_) return attacher_->serve(request, file);
  if (!loads(request) || request.number >= std::size(kDescriptors))
    return error_in_words("there are no such programs or maps of described functions");
  if (auto ok = load(); !ok) return ok.error();
  const char* const name = kDescriptors[request.number];
  const auto program = kernel::program_fd(loaded_->obj, name);
  const int fd = program ? *program : bpf_object__find_map_fd_by_name(loaded_->obj, name);
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return last_error(std::string("copy the descriptor of ") + name);
  return copy;
}

Result<FunctionsObject> FunctionsObject::load(FunctionsServer& server,
                                              std::shared_ptr<Helper> helper) {
  FunctionsObject made;
  for (std::uint32_t i = 0; i < std::size(kDescriptors); ++i) {
    if (i == kEntryForAll && kernel::uprobe_link_type()) break;
    const HelperRequest request{.what = kDescriptor, .number = i};
    auto fd = helper ? helper->ask(request, -1, kPatience) : server.serve(request, UniqueFd());
    if (!fd) return std::move(fd).error();
    made.fds_.push_back(std::move(*fd));
  }
  Result<void> done;
  const auto use = [&done](auto& to, auto opened) {
    if (opened)
      to = std::move(*opened);
    else
      done = opened.error();
  };
  const auto open = [&](auto& view, Descriptor which) {
    use(view, std::remove_cvref_t<decltype(view)>::from_fd(made.fds_[which].get()));
  };
  const auto map = [&](auto& memory, Descriptor which, std::size_t size) {
    use(memory, kernel::MapMemory::map(made.fds_[which].get(), kSeries * size, kDescriptors[which],
                                       kernel::MapMemory::Access::write));
  };
  FunctionMaps& maps = made.maps_;
  open(maps.places, kPlaces);
  open(maps.functions, kFunctions);
  open(maps.by_few, kByFew);
  open(maps.by_key, kByKey);
  open(maps.results, kResults);
  open(maps.threads, kThreads);
  open(maps.starts, kStarts);
  open(maps.pointers, kPointers);
  open(maps.drops, kDrops);
  map(made.series_, kSeriesMap, sizeof(iocx_function_series));
  map(made.times_, kTimes, sizeof(iocx_function_times));
  __u32 caps[IOCX_CAPPED_TABLES] = {};
  set_caps(caps);
  use(maps.caps,
      kernel::Caps::map(made.fds_[kHeld].get(), IOCX_RECORD_HOLDERS, kDescriptors[kHeld], caps));
  made.attacher_ = helper ? attacher_of(nullptr) : server.attacher_;
  if (helper) made.attacher_->use_helper(std::move(helper));
  for (std::uint32_t series = kOwnSeries; series < kSeries && done; ++series)
    done = made.push_free(series);
  if (!done) return done.error();
  return made;
}

Result<void> FunctionsObject::push_free(std::uint32_t series) const {
  const int err = bpf_map_update_elem(fds_[kFree].get(), nullptr, &series, BPF_ANY);
  return err < 0 ? kernel::libbpf_error(err, "write to BPF map free_series") : Result<void>();
}

std::optional<kernel::ProgramStats> FunctionsObject::stats() const {
  std::optional<kernel::ProgramStats> sum;
  for (std::size_t program = kEntry; program < fds_.size(); ++program)
    kernel::add_stats(sum, kernel::program_stats(fds_[program].get()));
  return sum;
}

}  // namespace ioc_exporter::functions
