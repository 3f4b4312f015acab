// The programs and maps of bpf/functions in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "iocs/elf/attacher.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "kernel/shares.h"
#include "shared/functions.h"

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
  kernel::MapView<iocx_function_pointer_key, iocx_holder> pointers;
  kernel::MapView<std::uint32_t, std::uint64_t> drops;  // per CPU
  kernel::Shares shares;
};

class FunctionsObject {
 public:
  // Series 1 to kOwnSeries are user space's, those from there on the programs'.
  static constexpr std::uint32_t kSeries = 8192, kOwnSeries = 4096;
  // Programs of the attacher: by what is wanted at the ends.
  static constexpr std::uint32_t kPlain = 0, kWithResult = 1;

  static Result<FunctionsObject> load();
  FunctionsObject(FunctionsObject&&) noexcept;
  FunctionsObject& operator=(FunctionsObject&&) noexcept;
  ~FunctionsObject();

  iocs::Attacher& attacher() const;
  const FunctionMaps& maps() const;
  // kSeries of each, as the programs write them: use atomic operations.
  iocx_function_series* series() const;
  iocx_function_times* times() const;
  // A series of the programs is free: it is zeroes.
  Result<void> push_free(std::uint32_t series) const;
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Loaded;
  explicit FunctionsObject(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::functions
