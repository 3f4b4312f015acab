#include "kernel/empty_probe.h"

#include <cerrno>
#include <utility>

#include "empty_probe.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::kernel {

struct EmptyProbe::Loaded {
  struct Deleter {
    void operator()(empty_probe_bpf* object) const { empty_probe_bpf__destroy(object); }
  };
  std::unique_ptr<empty_probe_bpf, Deleter> skeleton;
  LinkPtr link;  // goes first
};

EmptyProbe::EmptyProbe(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
EmptyProbe::EmptyProbe(EmptyProbe&&) noexcept = default;
EmptyProbe& EmptyProbe::operator=(EmptyProbe&&) noexcept = default;
EmptyProbe::~EmptyProbe() = default;

Result<EmptyProbe> EmptyProbe::attach(const std::string& path, std::uint64_t offset,
                                      std::int32_t pid, Where where) {
  capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(empty_probe_bpf__open_and_load());
  if (!loaded->skeleton) return libbpf_error(-errno, "load BPF object empty_probe");
  loaded->link.reset(bpf_program__attach_uprobe(
      loaded->skeleton->progs.empty_hit, where == Where::at_return, pid, path.c_str(), offset));
  if (!loaded->link)
    return libbpf_error(-errno,
                        "attach an empty uprobe in " + path + " (pid " + std::to_string(pid) + ")");
  return EmptyProbe(std::move(loaded));
}

}  // namespace ioc_exporter::kernel
