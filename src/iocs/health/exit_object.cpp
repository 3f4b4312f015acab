#include "iocs/health/exit_object.h"

#include <cerrno>
#include <utility>

#include "ioc_exit.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::iocs {
namespace {

static_assert(sizeof(iocx_ioc_exit) == 16);

struct SkeletonDeleter {
  void operator()(ioc_exit_bpf* skeleton) const { ioc_exit_bpf__destroy(skeleton); }
};

}  // namespace

struct ExitObject::Loaded {
  std::unique_ptr<ioc_exit_bpf, SkeletonDeleter> skeleton;
  kernel::MapView<std::uint32_t, iocx_ioc_exit> exits;
};

ExitObject::ExitObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
ExitObject::ExitObject(ExitObject&&) noexcept = default;
ExitObject& ExitObject::operator=(ExitObject&&) noexcept = default;
ExitObject::~ExitObject() = default;

Result<ExitObject> ExitObject::load() {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ioc_exit_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ioc_exit");
  if (const int err = ioc_exit_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ioc_exit");
  if (const int err = ioc_exit_bpf__attach(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "attach to the tracepoints of exits and signals");
  if (auto ok = kernel::open_view(loaded->exits, loaded->skeleton->maps.ioc_exits); !ok)
    return ok.error();
  return ExitObject(std::move(loaded));
}

const kernel::MapView<std::uint32_t, iocx_ioc_exit>& ExitObject::exits() const {
  return loaded_->exits;
}

std::uint64_t ExitObject::hold_changes() const {
  return __atomic_load_n(&loaded_->skeleton->bss->hold_changes, __ATOMIC_RELAXED);
}

std::optional<kernel::ProgramStats> ExitObject::stats() const {
  return kernel::program_stats(loaded_->skeleton->progs.process_exit);
}

}  // namespace ioc_exporter::iocs
