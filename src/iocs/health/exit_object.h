// The program and the map of bpf/iocs/exit.bpf.c in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "shared/ioc_exit.h"

namespace ioc_exporter::iocs {

class ExitObject {
 public:
  // Loaded and attached: what it takes is given up later. Needs the kernel's BTF
  // (kernel::has_btf()).
  static Result<ExitObject> load();

  ExitObject(ExitObject&&) noexcept;
  ExitObject& operator=(ExitObject&&) noexcept;
  ~ExitObject();

  const kernel::MapView<std::uint32_t, iocx_ioc_exit>& exits() const;  // by process id
  // How often one of these processes may have been stopped, or traced anew, by now.
  std::uint64_t hold_changes() const;
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Loaded;
  explicit ExitObject(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::iocs
