// The programs and maps of bpf/functions in the kernel. Hides libbpf and the skeleton.
//
// They are loaded when the first IOC has a function that is described: then by the process that
// keeps the right to (FunctionsServer), which hands out their descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/helper.h"
#include "base/result.h"
#include "elf/attacher.h"
#include "kernel/caps.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "shared/functions.h"

struct functions_bpf;

namespace ioc_exporter::functions {

// The label `probe`.
inline constexpr const char* kProbe = "functions";

struct FunctionMaps {
  kernel::MapView<iocx_function_place_key, iocx_function_place> places;
  kernel::MapView<std::uint32_t, iocx_function> functions;
  kernel::MapView<iocx_function_few_key, std::uint32_t> by_few;
  kernel::MapView<iocx_function_key, std::uint32_t> by_key;
  kernel::MapView<iocx_function_result_key, iocx_function_result> results;
  kernel::MapView<iocx_function_thread_key, iocx_function_thread> threads;
  kernel::MapView<iocx_function_start_key, iocx_function_start> starts;
  kernel::MapView<iocx_function_pointer_key, std::uint32_t> pointers;
  kernel::MapView<std::uint32_t, std::uint64_t> drops;  // per CPU
  kernel::Caps caps;
};

// In the process that loads the programs and attaches them.
class FunctionsServer {
 public:
  static bool serves(const HelperRequest& request);
  // Loading: not in a child, whose end would unload it.
  static bool loads(const HelperRequest& request);
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file);

 private:
  friend class FunctionsObject;
  Result<void> load();
  std::shared_ptr<functions_bpf> loaded_;
  std::optional<elf::Attacher> attacher_;
};

class FunctionsObject {
 public:
  // Series 1 to kOwnSeries are user space's, those from there on the programs'.
  static constexpr std::uint32_t kSeries = IOCX_FUNCTION_SERIES, kOwnSeries = 4096;
  // Functions of IOCs that are probed.
  static constexpr std::uint32_t kProbed = 4096;
  // Programs of the attacher: by what is wanted at the ends.
  static constexpr std::uint32_t kPlain = 0, kWithResult = 1;

  // `server`: that of this process; with `helper`, its process has one.
  static Result<FunctionsObject> load(FunctionsServer& server, std::shared_ptr<Helper> helper);

  const elf::Attacher& attacher() const { return *attacher_; }
  const FunctionMaps& maps() const { return maps_; }
  // kSeries of each, as the programs write them: use atomic operations.
  iocx_function_series* series() const {
    return static_cast<iocx_function_series*>(series_.data());
  }
  iocx_function_times* times() const { return static_cast<iocx_function_times*>(times_.data()); }
  // A series of the programs is free: it is zeroes.
  Result<void> push_free(std::uint32_t series) const;
  std::optional<kernel::ProgramStats> stats() const;

 private:
  FunctionsObject() = default;
  std::vector<UniqueFd> fds_;
  std::optional<elf::Attacher> attacher_;
  kernel::MapMemory series_, times_;
  FunctionMaps maps_;
};

}  // namespace ioc_exporter::functions
